import type { Content } from "@google/genai";
import { finishedTurnsIn, type FinishedTurns, type KnownTexts } from "./finished-contents.ts";
import { textBytes } from "./heap-bytes.ts";
import { isSameContent } from "./same-content.ts";

/**
 * K36. For each request the genai client converts every part of the history and writes it as JSON. The text of a finished
 * turn stays the same, so it is kept. The client converts the rest of the request, with a mark in the place of the finished
 * turns, and their text is put there when the client sends the body. A content that a callback has changed is not left out.
 */

interface Parameters {
  contents: Content[];
}

/** The parts of the genai client that we wrap. They are private there. */
export interface RequestMaker {
  generateContentStreamInternal?: (parameters: Parameters) => Promise<unknown>;
  apiClient?: { requestStream?: (request: { body?: unknown }) => Promise<unknown> };
}

/** Lets a client leave out what has a text. A client that makes its requests in another way is left alone. */
export function keepRequestTexts(maker: RequestMaker): void {
  const client = maker.apiClient;
  const [make, send] = [maker.generateContentStreamInternal, client?.requestStream];
  if (!client || typeof make !== "function" || typeof send !== "function") return;
  const shortened = new Map<string, ShortRequest>();
  maker.generateContentStreamInternal = async (parameters) => {
    const short = shorten(parameters.contents, client);
    if (!short) return make.call(maker, parameters);
    shortened.set(short.mark, short);
    try {
      return await make.call(maker, { ...parameters, contents: short.contents });
    } finally {
      shortened.delete(short.mark);
    }
  };
  client.requestStream = async (request) => {
    const { body } = request;
    for (const [mark, short] of shortened)
      if (typeof body === "string" && body.includes(mark)) {
        shortened.delete(mark);
        return send.call(client, { ...request, body: complete(body, short) });
      }
    return send.call(client, request);
  };
}

/** A request whose finished turns are left out. */
interface ShortRequest {
  /** The text of the contents that stand for others. It occurs nowhere else. */
  mark: string;
  contents: Content[];
  /**
   * What each of the contents stands for: the finished turns from one place to another, whose texts are known, or the place
   * of one whose text is not.
   */
  places: ({ from: number; to: number } | { place: number } | undefined)[];
  texts: KnownTexts;
  charge: FinishedTurns["charge"];
}

function shorten(contents: readonly Content[], client: object): ShortRequest | undefined {
  const finished = finishedTurnsIn(contents);
  if (!finished) return undefined;
  const texts = textsOf(finished, client);
  const mark = crypto.randomUUID();
  const short: ShortRequest = { mark, contents: [], places: [], texts, charge: finished.charge };
  let run = { from: 0, to: 0 };
  const endRun = (next: number) => {
    // The first mark is always there: the body is found by it.
    if (run.from < run.to || short.contents.length === 0) {
      short.contents.push({ role: "user", parts: [{ text: mark }] });
      short.places.push(run);
    }
    run = { from: next, to: next };
  };
  for (const [place, content] of contents.entries()) {
    const known = finished.contents[place];
    const isKnown = known !== undefined && isSameContent(content, known);
    if (isKnown && texts.each[place] !== undefined) {
      run.to = place + 1;
      continue;
    }
    endRun(place + 1);
    short.contents.push(content);
    short.places.push(isKnown ? { place } : undefined);
  }
  endRun(contents.length);
  return short;
}

function textsOf({ texts }: FinishedTurns, client: object): KnownTexts {
  const known = texts.get(client) ?? { each: [], joined: { count: 0, text: "" } };
  texts.set(client, known);
  return known;
}

/** The body with the texts in their places. Keeps the texts of finished turns that the client converted now. */
function complete(body: string, { mark, places, texts, charge }: ShortRequest): string {
  const request = JSON.parse(body) as { contents: unknown[] };
  let kept = 0;
  const contents = request.contents.flatMap((content, index) => {
    const known = places[index];
    if (known && "from" in known) return joinedTexts(known, texts);
    const text = JSON.stringify(content);
    if (known) {
      texts.each[known.place] = text;
      kept += textBytes(text.length);
    }
    return text;
  });
  if (kept > 0) charge(kept);
  const rest = JSON.stringify({ ...request, contents: mark });
  const at = rest.indexOf(`"${mark}"`);
  return `${rest.slice(0, at)}[${contents.join(",")}]${rest.slice(at + mark.length + 2)}`;
}

/** Texts that are not joined yet. Fewer are not worth a copy of all that come before them. */
const maxLoose = 100;

/** Joining thousands of texts takes long, so most of those at the beginning stay joined. */
function joinedTexts({ from, to }: { from: number; to: number }, { each, joined }: KnownTexts): string[] {
  if (from > 0 || to < joined.count) return each.slice(from, to) as string[];
  const loose = each.slice(joined.count, to) as string[];
  const pieces = joined.count > 0 ? [joined.text, ...loose] : loose;
  if (loose.length < maxLoose) return pieces;
  const text = pieces.join(",");
  Object.assign(joined, { count: to, text });
  // From now on each is a part of the whole, so that its characters are in memory once.
  let start = 0;
  for (const [place, known = ""] of each.slice(0, to).entries()) {
    each[place] = text.slice(start, start + known.length);
    start += known.length + 1;
  }
  return [text];
}
