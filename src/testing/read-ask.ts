import type { Content, FunctionCall } from "@google/genai";
import { z } from "zod";
import type { Ask, ToolResponse } from "./script.ts";

/** A turn or the system instruction. */
export const content = z.looseObject({ role: z.string().optional(), parts: z.array(z.looseObject({})).optional() });

/** The tools the model may call. Only the Live API has `behavior`. */
export const tools = z.array(
  z.looseObject({
    functionDeclarations: z.array(z.looseObject({ name: z.string(), behavior: z.string().optional() })).optional(),
  }),
);

/** The body of `generateContent`, as far as a script reads it. All other fields are kept as they came. */
export const requestBody = z.looseObject({
  contents: z.array(content).min(1),
  systemInstruction: content.optional(),
  tools: tools.optional(),
});

/** A body that has been checked. */
export type RequestBody = z.infer<typeof requestBody>;

/** Reads one request for a script. */
export function readAsk(body: RequestBody, model: string, request: number): Ask {
  const contents = body.contents as Content[];
  const lastModelTurn = contents.findLastIndex((turn) => turn.role === "model");
  const userTurn = contents.findLastIndex(isUsersOwn);
  return {
    text: userTurn === -1 ? "" : textOf(contents[userTurn]),
    fresh: userTurn > lastModelTurn,
    responses: readResponses(contents, lastModelTurn),
    contents,
    toolNames: (body.tools ?? []).flatMap((tool) => tool.functionDeclarations ?? []).map(({ name }) => name),
    system: textOf(body.systemInstruction),
    model,
    request,
  };
}

/**
 * Texts under the user's role that the user did not write. Gemini requires the user's turn last, so ADK adds one if
 * there is none, and it repeats turns of other agents as the user's. The bridge adds outcomes that came late, and repeats
 * the calls and responses of an earlier live connection as text, because the history of a live session takes neither.
 */
const notes = [
  /^\[context, not from the user\]/,
  /^For context:/,
  /^Handle the requests as specified in the System Instruction\.$/,
  /^Continue processing previous requests as instructed\./,
  /^\[called /,
  /^\[\w+ returned /,
];

function isUsersOwn(turn: Content): boolean {
  if (turn.role === "model") return false;
  const said = textOf(turn).trim();
  if (said !== "") return !notes.some((note) => note.test(said));
  return (turn.parts ?? []).some((part) => part.inlineData !== undefined || part.fileData !== undefined);
}

function textOf(turn: Content | undefined): string {
  return (turn?.parts ?? []).flatMap((part) => (part.thought ? [] : (part.text ?? []))).join("\n");
}

function readResponses(contents: readonly Content[], lastModelTurn: number): ToolResponse[] {
  const calls: FunctionCall[] = (contents[lastModelTurn]?.parts ?? []).flatMap((part) => part.functionCall ?? []);
  const responses = contents
    .slice(lastModelTurn + 1)
    .flatMap((turn) => turn.parts ?? [])
    .flatMap((part) => part.functionResponse ?? []);
  return responses.map(({ id, name = "", response = {} }, position) => {
    const made = id === undefined ? calls[position] : findCall(contents, id);
    return { id, name, args: made?.args ?? {}, response };
  });
}

/** The last call with this id: in a live session other turns may come between a call and its response. */
function findCall(contents: readonly Content[], id: string): FunctionCall | undefined {
  for (const turn of contents.toReversed()) {
    const found = turn.parts?.find((part) => part.functionCall?.id === id);
    if (found !== undefined) return found.functionCall;
  }
  return undefined;
}
