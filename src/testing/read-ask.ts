import type { Content, FunctionCall } from "@google/genai";
import { z } from "zod";
import type { Ask, ToolResponse } from "./script.ts";

/** A turn, or the system instruction. */
export const content = z.looseObject({ role: z.string().optional(), parts: z.array(z.looseObject({})).optional() });

/** The tools the model may call. `behavior` is known to the live wire only. */
export const tools = z.array(
  z.looseObject({
    functionDeclarations: z.array(z.looseObject({ name: z.string(), behavior: z.string().optional() })).optional(),
  }),
);

/** The body of `generateContent`, as far as a script looks into it. Everything else is kept as it came. */
export const requestBody = z.looseObject({
  contents: z.array(content).min(1),
  systemInstruction: content.optional(),
  tools: tools.optional(),
});

export type RequestBody = z.infer<typeof requestBody>;

/** Reads one request the way a script wants to see it. */
export function readAsk(body: RequestBody, model: string, request: number): Ask {
  const contents = body.contents as Content[];
  const lastSpoken = contents.findLastIndex((turn) => turn.role === "model");
  const userTurn = contents.findLastIndex(isUsersOwn);
  return {
    text: userTurn === -1 ? "" : textOf(contents[userTurn]),
    fresh: userTurn > lastSpoken,
    responses: readResponses(contents, lastSpoken),
    contents,
    toolNames: (body.tools ?? []).flatMap((tool) => tool.functionDeclarations ?? []).map(({ name }) => name),
    system: textOf(body.systemInstruction),
    model,
    request,
  };
}

/**
 * What is said in the user's name and is not the user's: Gemini wants a user's turn last, so ADK writes one where there
 * is none, and it retells other agents' turns as the user's; the bridge adds what became known too late, and retells
 * calls and responses of an earlier live connection, which takes none in its history.
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

function readResponses(contents: readonly Content[], lastSpoken: number): ToolResponse[] {
  const calls: FunctionCall[] = (contents[lastSpoken]?.parts ?? []).flatMap((part) => part.functionCall ?? []);
  const responses = contents
    .slice(lastSpoken + 1)
    .flatMap((turn) => turn.parts ?? [])
    .flatMap((part) => part.functionResponse ?? []);
  return responses.map(({ id, name = "", response = {} }, position) => {
    const answered = id === undefined ? calls[position] : findCall(contents, id);
    return { id, name, args: answered?.args ?? {}, response };
  });
}

/** The call with this id that was made last: in a live session the talk goes on between a call and its response. */
function findCall(contents: readonly Content[], id: string): FunctionCall | undefined {
  for (const turn of contents.toReversed()) {
    const found = turn.parts?.find((part) => part.functionCall?.id === id);
    if (found !== undefined) return found.functionCall;
  }
  return undefined;
}
