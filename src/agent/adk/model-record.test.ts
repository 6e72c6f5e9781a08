import { expect, test } from "vitest";
import { createModelRecord } from "./model-record.ts";

type Before = Parameters<ReturnType<typeof createModelRecord>["plugin"]["beforeModelCallback"]>[0];

function stage(limit?: number) {
  let clock = 0;
  const record = createModelRecord({ ...(limit !== undefined && { limit }), now: () => ++clock });
  const { plugin } = record;
  const callbackContext = (session: string) =>
    ({ sessionId: session, invocationId: `run of ${session}` }) as Before["callbackContext"];
  return {
    record,
    ask(session: string, contents: unknown[]) {
      const request = { model: "m", contents, config: { systemInstruction: "Be kind." }, toolsDict: { pay: {} } };
      const llmRequest = request as unknown as Before["llmRequest"];
      void plugin.beforeModelCallback({ callbackContext: callbackContext(session), llmRequest });
    },
    respond(session: string, llmResponse: Record<string, unknown>) {
      void plugin.afterModelCallback({ callbackContext: callbackContext(session), llmResponse });
    },
  };
}

const said = (text: string) => ({ role: "user", parts: [{ text }] });

test("keeps what the model was asked and its whole response, by session", () => {
  const { record, ask, respond } = stage();
  ask("a", [said("hello")]);
  ask("b", [said("other")]);
  respond("a", { partial: true, content: said("He") });
  respond("a", { content: said("Hello!"), usageMetadata: { totalTokenCount: 3 } });
  expect(record.of("a")).toEqual([
    {
      at: 1,
      endedAt: 3,
      model: "m",
      system: "Be kind.",
      tools: ["pay"],
      contents: [said("hello")],
      earlier: 0,
      response: [{ ...said("Hello!"), usageMetadata: { totalTokenCount: 3 } }],
    },
  ]);
  expect(record.of("b")[0]?.response).toEqual([]);
});

test("keeps a bounded part of a long conversation, and copies of it", () => {
  const { record, ask } = stage();
  const contents = Array.from({ length: 50 }, (_, index) => said(String(index)));
  contents.push(said("x".repeat(100_000)));
  ask("a", contents);
  const [exchange] = record.of("a");
  expect(exchange?.earlier).toBe(31);
  expect(exchange?.contents).toHaveLength(20);
  expect(JSON.stringify(exchange).length).toBeLessThan(10_000);
  contents[49]?.parts.push({ text: "changed later" });
  expect(JSON.stringify(exchange)).not.toContain("changed later");
});

test("forgets the oldest", () => {
  const { record, ask } = stage(2);
  for (const text of ["1", "2", "3"]) ask("a", [said(text)]);
  expect(record.of("a").map(({ contents }) => contents)).toEqual([[said("2")], [said("3")]]);
});
