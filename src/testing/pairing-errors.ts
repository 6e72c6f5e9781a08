import type { Content, FunctionCall, FunctionResponse } from "@google/genai";

/**
 * What Gemini would refuse about a conversation. It must begin with the user, no turn may be empty, and a turn with
 * function calls must be followed by one turn with exactly their responses, in the same order. An empty list means that
 * nothing is wrong.
 */
export function pairingErrors(contents: readonly Content[]): string[] {
  const errors: string[] = [];
  if (contents[0]?.role === "model") errors.push("turn 0 is the model's, but a conversation begins with the user");
  contents.forEach((content, turn) => {
    const parts = content.parts ?? [];
    if (parts.length === 0) errors.push(`turn ${turn} has no parts`);

    const calls = callsOf(content);
    const responses = responsesOf(content);
    if (calls.length > 0) {
      const responded = responsesOf(contents[turn + 1])
        .map(label)
        .join(", ");
      const called = calls.map(label).join(", ");
      if (responded !== called)
        errors.push(`turn ${turn} calls [${called}] but turn ${turn + 1} responds to [${responded}]`);
    }
    if (responses.length > 0) {
      if (content.role === "model") errors.push(`turn ${turn} is the model's and has function responses`);
      if (callsOf(contents[turn - 1]).length === 0) {
        errors.push(`turn ${turn} responds to [${responses.map(label).join(", ")}] but turn ${turn - 1} calls nothing`);
      }
      if (responses.length < parts.length) errors.push(`turn ${turn} mixes function responses with other parts`);
    }
  });
  return errors;
}

function callsOf(content: Content | undefined): FunctionCall[] {
  return (content?.parts ?? []).flatMap((part) => part.functionCall ?? []);
}

function responsesOf(content: Content | undefined): FunctionResponse[] {
  return (content?.parts ?? []).flatMap((part) => part.functionResponse ?? []);
}

/** Ids are optional, but the response to a call with an id has the same id. */
function label({ name, id }: { name?: string; id?: string }): string {
  return id === undefined ? (name ?? "") : `${name ?? ""}#${id}`;
}
