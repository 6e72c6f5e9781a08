import { call, geminiAt, type Rule, startScriptedGemini, text } from "adk-stream-protocol/testing";

/** What the model says in tests, and without a key. The first rule that fits responds. */
const rules: Rule[] = [
  {
    when: ({ fresh, responses }) => !fresh && responses.length > 0,
    say: ({ responses }) => [text(describe(responses))],
  },
  { when: /pay|send/i, say: [text("One moment."), call("pay", { amount: 50, recipient: "Hanako" })] },
  { say: [text("Hello! I follow a script, because there is no API key. Write “Pay Hanako 50 dollars”.")] },
];

function describe(responses: readonly { response: object }[]): string {
  return `The payment gave: ${responses.map(({ response }) => JSON.stringify(response)).join(", ")}`;
}

/** A Gemini on this machine that follows the rules above. */
export async function startScriptedModel() {
  const gemini = await startScriptedGemini({ rules });
  return { gemini, model: geminiAt({ model: "gemini-2.5-flash", url: gemini.url }) };
}
