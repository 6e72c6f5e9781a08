import type { Event } from "@google/adk";
import type { Content, FunctionCall, Part } from "@google/genai";

/** Repairs what ADK is about to send to the model, in place. */
export function repairContents(contents: Content[], events: readonly Event[]): void {
  restoreResponses(contents, events);
  orderResponses(contents);
  beginWithUser(contents, events);
}

/**
 * Puts the responses of a step back that ADK has left out. If the history ends with a response, ADK drops what comes between
 * it and its call (K12). That may be the response to an older call, when the reply after it is made again.
 */
function restoreResponses(contents: Content[], events: readonly Event[]): void {
  let stored: ReadonlyMap<string, Part> | undefined;
  for (let index = contents.length - 1; index >= 0; index -= 1) {
    const calls = callsIn(contents[index]);
    if (calls.length === 0 || contents[index + 1]?.parts?.some(({ functionResponse }) => functionResponse)) continue;
    const responses = (stored ??= responseParts(events));
    const found = calls.flatMap(({ id }) => responses.get(id ?? "") ?? []);
    if (found.length === calls.length) contents.splice(index + 1, 0, { role: "user", parts: structuredClone(found) });
  }
}

const none: readonly FunctionCall[] = [];

/** The calls in a content. Most contents of a long history have none. */
function callsIn(content: Content | undefined): readonly FunctionCall[] {
  if (!content?.parts?.some(({ functionCall }) => functionCall)) return none;
  return content.parts.flatMap(({ functionCall }) => functionCall ?? []);
}

/** The responses of a history by the ids of their calls. */
function responseParts(events: readonly Event[]): ReadonlyMap<string, Part> {
  const parts = events.flatMap(({ content }) => content?.parts ?? []);
  return new Map(
    parts.flatMap((part): [string, Part][] => (part.functionResponse?.id ? [[part.functionResponse.id, part]] : [])),
  );
}

/**
 * Puts the responses of a step in the order of its calls, because order is what matches them (K23). In live mode responses
 * were given one by one, and ADK collects them in that order. A step with a call without an id got its responses in order.
 */
export function orderResponses(contents: readonly Content[]): void {
  for (const [index, content] of contents.entries()) {
    const calls = callsIn(content);
    if (calls.length < 2) continue;
    const place = ({ functionResponse }: Part) => calls.findIndex(({ id }) => id === functionResponse?.id);
    if (calls.every(({ id }) => id !== undefined)) contents[index + 1]?.parts?.sort((a, b) => place(a) - place(b));
  }
}

/**
 * A request must begin with the user. An agent that gets no history (`includeContents: "none"`) and resumes after an
 * approval would begin with its own call, so the user's last text is put first.
 */
export function beginWithUser(contents: Content[], events: readonly Event[]): void {
  if (contents[0]?.role !== "model") return;
  const asked = events.findLast(({ author, content }) => author === "user" && content?.parts?.[0]?.text);
  if (asked?.content) contents.unshift(structuredClone(asked.content));
}
