import type { UIMessage, UIMessageChunk } from "ai";
import { expect, test } from "vitest";
import type { LogEntry } from "../../agent/index.ts";
import type { ApprovalView } from "../../protocol/index.ts";
import { TurnView } from "./turn-view.ts";

const approval = { id: "apr", toolCallId: "call", toolName: "pay", input: {} } as unknown as ApprovalView;
const options = { bridge: { approval: async () => approval }, owner: "alice" };
const replay: UIMessage = { id: "m", role: "assistant", parts: [{ type: "text", text: "Earlier." }] };

const place = { turn: "t", sequence: 1, at: 0 };
const begin: LogEntry = { ...place, kind: "begin", reply: "m" };
const chunk = (content: UIMessageChunk): LogEntry => ({ ...place, kind: "chunk", chunk: content });
const start = chunk({ type: "start", messageId: "m" });
const asks = chunk({ type: "tool-approval-request", approvalId: "apr", toolCallId: "call" });
const endsStep = chunk({ type: "finish-step" });

/** The types of what a reader gets. */
async function read(view: TurnView, ...entries: LogEntry[]): Promise<string> {
  const seen: UIMessageChunk[] = [];
  for (const entry of entries) seen.push(...(await view.next(entry)));
  return seen.map(({ type }) => type).join(" ");
}

const confirms = "finish-step start-step tool-input-start tool-input-available finish-step";

test("gives each turn a view of its own", async () => {
  const view = new TurnView({ ...options, confirmation: "tool" });
  expect(await read(view, begin, start, asks, endsStep)).toBe(`start ${confirms}`);
  expect(await read(view, begin, start, asks)).toBe("start");
  expect(await read(view, begin, start, endsStep)).toBe("start finish-step");
});

test("replays the earlier message in the first turn only", async () => {
  const view = new TurnView({ ...options, confirmation: "approval" }, { replay });
  expect(await read(view, begin, start)).toBe("start text-start text-delta text-end");
  expect(await read(view, begin, start)).toBe("start");
});

test("takes skipped entries of the same turn into account", async () => {
  const view = new TurnView({ ...options, confirmation: "tool" });
  for (const entry of [begin, start, asks]) view.skip(entry);
  expect(await read(view, endsStep, endsStep)).toBe(`${confirms} finish-step`);
});

test("forgets skipped entries of an earlier turn", async () => {
  const view = new TurnView({ ...options, confirmation: "tool" });
  for (const entry of [begin, start, asks]) view.skip(entry);
  expect(await read(view, begin, start, endsStep)).toBe("start finish-step");
});

test("gives nothing for entries that are not chunks", async () => {
  const view = new TurnView({ ...options, confirmation: "approval" });
  expect(await read(view, begin, { ...place, kind: "end" })).toBe("");
});
