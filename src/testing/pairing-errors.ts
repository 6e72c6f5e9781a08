import type { Content, FunctionCall, FunctionResponse } from "@google/genai";

/**
 * What Gemini would refuse about a conversation: it begins with the user, no turn is empty, and a turn with function
 * calls is followed at once by one turn with exactly their responses, in order. An empty list means it is whole.
 */
export function pairingErrors(contents: readonly Content[]): string[] {
  const errors: string[] = [];
  if (contents[0]?.role === "model") errors.push("turn 0 is the model's; a conversation begins with the user");
  contents.forEach((content, turn) => {
    const parts = content.parts ?? [];
    if (parts.length === 0) errors.push(`turn ${turn} has no parts`);

    const calls = callsOf(content);
    const responses = responsesOf(content);
    if (calls.length > 0) {
      const answered = responsesOf(contents[turn + 1])
        .map(label)
        .join(", ");
      const called = calls.map(label).join(", ");
      if (answered !== called) errors.push(`turn ${turn} calls [${called}] but turn ${turn + 1} answers [${answered}]`);
    }
    if (responses.length > 0) {
      if (content.role === "model") errors.push(`turn ${turn} is the model's and has function responses`);
      if (callsOf(contents[turn - 1]).length === 0) {
        errors.push(`turn ${turn} answers [${responses.map(label).join(", ")}] but turn ${turn - 1} calls nothing`);
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

/** Ids are optional on this wire, but a call that has one is answered under it. */
function label({ name, id }: { name?: string; id?: string }): string {
  return id === undefined ? (name ?? "") : `${name ?? ""}#${id}`;
}
