/** What an operator sees of a server: metrics, spans and log lines, over both modes, and nothing that is secret. */
import type { Logger } from "adk-stream-protocol";
import { gate, pause, text } from "adk-stream-protocol/testing";
import { afterEach, describe, expect, it } from "vitest";
import { installMeter, type Point } from "../fixtures/measured.ts";
import { endSockets, openSocket } from "../fixtures/raw-socket.ts";
import { recordSpans } from "../fixtures/spans.ts";
import { answer, asked, decide, idle, openWorld, payRules, post, quiet, say, userMessage } from "../fixtures/world.ts";

afterEach(endSockets);

const prefix = "adk_stream_protocol.";
const attributeNames = ["mode", "kind", "outcome", "event", "state", "tool"];

/** The values of an instrument, each with its attributes as one word. */
function valuesOf(measured: Map<string, Point[]>, name: string): Record<string, number> {
  const words = ({ attributes }: Point) => Object.values(attributes).join(" ");
  return Object.fromEntries((measured.get(prefix + name) ?? []).map((point) => [words(point), point.value]));
}

describe("metrics", () => {
  it("count a payment by request: its turns, its approval, its model calls and its readers", async () => {
    const { read } = installMeter();
    const { opened, open } = gate();
    const world = await openWorld({
      rules: [{ when: /story/, say: [text("One "), pause(opened), text("two.")] }, ...payRules],
    });
    const question = asked(await say(world, "pay"));
    expect(valuesOf(await read(), "approvals.open")).toEqual({ pending: 1, approved: 0, executing: 0, waiting: 0 });
    await answer(world, [{ ...question, approved: true }]);
    const story = await post(world, "/stream", { id: "chat-2", messages: [userMessage("a story")] });
    await expect.poll(async () => valuesOf(await read(), "streams")).toEqual({ "": 1 });
    expect(valuesOf(await read(), "turns.running")).toEqual({ "": 1 });
    open();
    await story.text();
    await idle(world, "chat-2");

    const measured = await read();
    expect(valuesOf(measured, "turns.started")).toEqual({ "request message": 2, "request settled": 1 });
    expect(valuesOf(measured, "turn.duration")).toEqual({
      "request message parked": 1,
      "request settled done": 1,
      "request message done": 1,
    });
    expect(valuesOf(measured, "approval.changes")).toEqual({
      "create pending process_payment": 1,
      "approve approved process_payment": 1,
      "claim executing process_payment": 1,
      "succeed succeeded process_payment": 1,
    });
    expect(valuesOf(measured, "approval.claim_delay")).toEqual({ "": 1 });
    expect(valuesOf(measured, "model.calls")).toEqual({ "": 3 });
    expect(valuesOf(measured, "log.lag")[""]).toBeGreaterThan(0);
    expect(valuesOf(measured, "leases.taken")[""]).toBeGreaterThan(0);
    await expect.poll(async () => valuesOf(await read(), "leases.held")).toEqual({ "": 0 });
    for (const name of ["turns.running", "turns.queued", "streams", "sockets"])
      expect([name, valuesOf(measured, name)]).toEqual([name, { "": 0 }]);
    expect(valuesOf(measured, "approvals.open")).toEqual({ pending: 0, approved: 0, executing: 0, waiting: 0 });
  });

  it("count sockets and live connections while they are open, and have no attribute that names a person or a chat", async () => {
    const { read } = installMeter();
    const world = await openWorld({ server: { authenticate: () => "alice@example.com" } });
    const client = await openSocket(world);
    client.send({ type: "message", id: "chat-1", messages: [userMessage("pay")] });
    const question = asked(await client.question());
    const measured = await read();
    expect([valuesOf(measured, "sockets"), valuesOf(measured, "live_connections")]).toEqual([{ "": 1 }, { "": 1 }]);
    await decide(world, question.approvalId, false);
    await quiet(world);
    client.socket.terminate();
    await world.bridge.close();
    await expect.poll(async () => valuesOf(await read(), "sockets")).toEqual({ "": 0 });
    const after = await read();
    expect(valuesOf(after, "live_connections")).toEqual({ "": 0 });
    expect(valuesOf(after, "turns.started")).toMatchObject({ "live message": 1 });
    for (const points of after.values())
      for (const { attributes } of points)
        for (const [name, value] of Object.entries(attributes)) {
          expect(attributeNames).toContain(name);
          expect(String(value)).toMatch(/^[a-z_]+$/);
        }
  });
});

describe("traces", () => {
  it("have a span for each turn", async () => {
    const spans = await recordSpans(async () => {
      const world = await openWorld();
      await say(world, "hello");
      await idle(world);
      await world.close();
    });
    const turns = spans.filter(({ name }) => name === "adk_stream_protocol.turn");
    expect(turns).toMatchObject([{ attributes: { mode: "request", kind: "message", outcome: "done" }, ended: true }]);
  });
});

describe("log lines", () => {
  it.each(["request", "live"])("follow a call in mode %s from the question to the outcome", async (mode) => {
    const lines: [string, Record<string, unknown>?][] = [];
    const logger: Logger = { info: (...line) => void lines.push(line), warn: () => {}, error: () => {} };
    const world = await openWorld({ bridge: { logger } });
    const client = await openSocket(world);
    if (mode === "live") client.send({ type: "message", id: "chat-1", messages: [userMessage("pay")] });
    const question = asked(mode === "live" ? await client.question() : await say(world, "pay"));
    await decide(world, question.approvalId, true);
    await decide(world, question.approvalId, true);
    await quiet(world);
    expect(lines.map(([, fields]) => [fields?.["event"], fields?.["state"], fields?.["mode"]])).toEqual([
      ["create", "pending", mode],
      ["approve", "approved", mode],
      ["claim", "executing", mode],
      ["succeed", "succeeded", mode],
    ]);
    for (const [, fields] of lines) expect(fields).toMatchObject({ approval: question.approvalId });
    expect(JSON.stringify(lines)).not.toContain("Hanako");
  });
});
