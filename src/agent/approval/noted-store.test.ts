import { describe, expect, test } from "vitest";
import { newApproval } from "../../../test/contracts/store.ts";
import type { Change } from "../../stores/index.ts";
import { memoryStore } from "../../stores/memory.ts";
import type { Logger } from "../support/index.ts";
import { installMeter } from "../../../test/fixtures/measured.ts";
import { notedStore } from "./noted-store.ts";

const secrets = { input: '{"iban":"DE00"}', hint: "hint-secret", requestedBy: "asker@example.com" };

async function setUp(logger?: Partial<Logger>) {
  const clock = { now: 1000 };
  const lines: [string, Record<string, unknown>?][] = [];
  const log: Logger = { info: (...line) => void lines.push(line), warn: () => {}, error: () => {}, ...logger };
  const store = notedStore(memoryStore({ now: () => clock.now }), log);
  const chat = await store.openChat({ owner: "owner@example.com", name: "named", appName: "app" });
  const ask = (call: string, fields = {}) => store.createApproval(newApproval(chat, call, { ...secrets, ...fields }));
  return { clock, lines, store, chat, ask };
}

const approve: Change = { event: "approve", by: "boss@example.com", reason: "reason-secret", key: "key-secret" };
const claim: Change = { event: "claim", leaseOwner: "lease-secret", leaseMs: 1000 };
const succeed: Change = { event: "succeed", outcome: { paid: "outcome-secret" }, fence: 1 };

describe("the log of a call", () => {
  test("has one line for the question, the decision, the claim and the outcome, with ids and without contents", async () => {
    const { clock, lines, store, chat, ask } = await setUp();
    const { id } = await ask("call");
    await store.move(id, approve);
    clock.now += 25;
    await store.move(id, claim);
    await store.move(id, succeed);
    const fields = { approval: id, chat: chat.id, tool: "process_payment", mode: "request" };
    expect(lines).toEqual([
      ["A person is asked about a call.", { ...fields, event: "create", state: "pending" }],
      ["A call was approved.", { ...fields, event: "approve", state: "approved" }],
      ["A call was claimed.", { ...fields, event: "claim", state: "executing", fence: 1, delayMs: 25 }],
      ["A call has succeeded.", { ...fields, event: "succeed", state: "succeeded" }],
    ]);
    expect(JSON.stringify(lines)).not.toMatch(/secret|example\.com|iban|named/);
  });

  test("has no line for what changed nothing", async () => {
    const { lines, store, ask } = await setUp();
    const { id } = await ask("call");
    await ask("call", { id: "another id of the same call" });
    await store.move(id, approve);
    await store.move(id, approve);
    await store.move(id, { event: "deny", by: "late" });
    await store.move("unknown", approve);
    expect(lines.map(([message]) => message)).toEqual(["A person is asked about a call.", "A call was approved."]);
  });

  test("names what happened, not what was tried: a late answer finds that the time is over", async () => {
    const { clock, lines, store, ask } = await setUp();
    const { id } = await ask("call");
    clock.now += 60_000;
    await store.move(id, approve);
    expect(lines.at(-1)).toMatchObject(["A call has expired.", { event: "expire", state: "expired" }]);
  });

  test("does not say that a person is asked about a call that only waits for its result", async () => {
    const { lines, ask } = await setUp();
    await ask("call", { gated: false, state: "waiting", reportMs: 1000 });
    expect(lines).toMatchObject([["A call waits for its result; no one is asked.", { state: "waiting" }]]);
  });

  test("that cannot be written does not undo the change", async () => {
    const { store, ask } = await setUp({
      info: () => {
        throw new Error("The disk is full.");
      },
    });
    const { id } = await ask("call");
    expect(await store.move(id, approve)).toMatchObject({ moved: true });
  });
});

describe("the metrics of a call", () => {
  test("count each change by event, state and tool, and time the way from a yes to the claim", async () => {
    const { read } = installMeter();
    const { store, ask } = await setUp();
    for (const call of ["a", "b"]) await store.move((await ask(call)).id, approve);
    const { id } = await ask("c");
    for (const change of [approve, claim, succeed]) await store.move(id, change);
    const measured = await read();
    const counts = measured.get("adk_stream_protocol.approval.changes") ?? [];
    expect(counts.map(({ attributes, value }) => [attributes["event"], attributes["state"], value])).toEqual([
      ["create", "pending", 3],
      ["approve", "approved", 3],
      ["claim", "executing", 1],
      ["succeed", "succeeded", 1],
    ]);
    expect(counts.every(({ attributes }) => attributes["tool"] === "process_payment")).toBe(true);
    expect(measured.get("adk_stream_protocol.approval.claim_delay")).toEqual([{ attributes: {}, value: 1 }]);
  });
});
