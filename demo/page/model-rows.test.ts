import { expect, test } from "vitest";
import { modelRows } from "./model-rows.ts";

test("requests and events are in the order of time, with their parts in one line", () => {
  const rows = modelRows({
    requests: [{ at: 15, contents: [1, 2], earlier: 3, tools: ["pay"], response: [] }],
    events: [
      { timestamp: 10, author: "user", content: { parts: [{ text: "Pay " }] } },
      {
        timestamp: 20,
        author: "agent",
        content: { parts: [{ text: "Ok" }, { functionCall: { name: "pay", args: { a: 1 } } }] },
      },
      {
        timestamp: 30,
        author: "agent",
        content: { parts: [{ functionResponse: { name: "pay", response: { ok: true } } }] },
      },
      { timestamp: 40, author: "agent", content: { parts: [{ inlineData: {} }] } },
      { timestamp: 50, author: "agent" },
      { timestamp: 60, author: "agent", content: { parts: "none" } },
    ],
  });
  expect(
    rows.map((row) => (row.kind === "asked" ? `asked ${row.contents} ${row.tools}` : `${row.author}: ${row.text}`)),
  ).toEqual(["user: Pay", "asked 5 1", 'agent: Ok · pay({"a":1})', 'agent: pay → {"ok":true}', "agent: inlineData"]);
});
