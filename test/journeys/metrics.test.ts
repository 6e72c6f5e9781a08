/** What an operator sees of a server: metrics, spans and log lines, over both modes, and nothing that is secret. */
import type { Logger } from "adk-stream-protocol";
import type { Store } from "adk-stream-protocol/stores";
import { postgresStore } from "adk-stream-protocol/stores/postgres";
import { fail, gate, pause, type Rule, text } from "adk-stream-protocol/testing";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { installMeter, type Point } from "../fixtures/measured.ts";
import { type TestDatabase, testDatabase } from "../fixtures/postgres.ts";
import { endSockets, openSocket } from "../fixtures/raw-socket.ts";
import { recordSpans } from "../fixtures/spans.ts";
import { type StoreKind, storeKinds } from "../fixtures/store-kinds.ts";
import { answer, asked, decide, idle, openWorld, payRules, post, quiet, say, userMessage } from "../fixtures/world.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());
afterEach(endSockets);
afterEach(() => database.empty());

const postgres: StoreKind = {
  name: "PostgreSQL",
  options: () => ({ store: (now) => postgresStore({ url: database.url, now, connections: 4 }) }),
};

const prefix = "adk_stream_protocol.";
const attributeNames = ["mode", "kind", "outcome", "event", "state", "tool"];

/** The values of an instrument, each with its attributes as one word. */
function valuesOf(measured: Map<string, Point[]>, name: string): Record<string, number> {
  const words = ({ attributes }: Point) => Object.values(attributes).join(" ");
  return Object.fromEntries((measured.get(prefix + name) ?? []).map((point) => [words(point), point.value]));
}

describe.each([...storeKinds, postgres])("metrics on $name", ({ options }) => {
  it("count a payment by request: its turns, its approval, its model calls and its readers", async () => {
    const { read } = installMeter();
    const { opened, open } = gate();
    const world = await openWorld({
      ...options(),
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
    const world = await openWorld({ ...options(), server: { authenticate: () => "alice@example.com" } });
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

  it("count calls without an outcome by their state", async () => {
    const { read } = installMeter();
    const world = await openWorld(options());
    const openCalls = async () => valuesOf(await read(), "approvals.open");
    const none = { pending: 0, approved: 0, executing: 0, waiting: 0 };
    const [first, second] = [asked(await say(world, "pay")), asked(await say(world, "where", { chat: "chat-2" }))];
    expect(await openCalls()).toEqual({ ...none, pending: 2 });
    await world.store.move(first.approvalId, { event: "approve", by: "local" });
    expect(await openCalls()).toEqual({ ...none, pending: 1, approved: 1 });
    await world.store.move(first.approvalId, { event: "claim", leaseOwner: "w", leaseMs: 60_000 });
    expect(await openCalls()).toEqual({ ...none, pending: 1, executing: 1 });
    await world.store.move(second.approvalId, { event: "approve", by: "local" });
    await world.store.move(second.approvalId, { event: "begin" });
    expect(await openCalls()).toEqual({ ...none, executing: 1, waiting: 1 });
    await world.store.move(first.approvalId, { event: "lose", fence: 1 });
    expect(await openCalls()).toEqual({ ...none, waiting: 1 });
  });

  it("say how each turn ended, and which wait", async () => {
    const { read } = installMeter();
    const { opened, open } = gate();
    const rules: Rule[] = [
      { when: /story/, say: [text("One "), pause(opened), text("two.")] },
      { when: /error/, say: [fail(400, "No.")] },
    ];
    const world = await openWorld({ ...options(), rules: [...rules, ...payRules] });
    const begin = (chat: string) => post(world, "/stream", { id: chat, messages: [userMessage("a story")] });
    const ended = async () => valuesOf(await read(), "turn.duration");

    await say(world, "error");
    await say(world, "weather", { chat: "again" });
    const again = { id: "again", trigger: "regenerate-message", messages: [userMessage("weather")] };
    await (await post(world, "/stream", again)).text();
    await idle(world, "again");
    const stopped = await begin("stopped");
    await expect.poll(async () => valuesOf(await read(), "leases.held")).toEqual({ "": 1 });
    await post(world, "/stream/stopped/stop", "");
    await stopped.text();
    const deleted = await begin("deleted");
    await fetch(`${world.server.url}/chats/deleted`, { method: "DELETE" });
    await deleted.text();
    await expect.poll(ended).toEqual({
      "request message failed": 1,
      "request message done": 1,
      "request again done": 1,
      "request message stopped": 1,
      "request message deleted": 1,
    });
    await expect.poll(async () => valuesOf(await read(), "leases.held")).toEqual({ "": 0 });

    const left = await begin("left");
    const reading = left.text().catch(() => undefined);
    await world.bridge.close();
    await reading;
    expect(await ended()).toMatchObject({ "request message left": 1 });
    open();
  });

  it("count the turns that wait for the one before them, in live mode", async () => {
    const { read } = installMeter();
    const { opened, open } = gate();
    const story: Rule = { when: /story/, say: [text("One "), pause(opened), text("two.")] };
    const world = await openWorld({ ...options(), rules: [story, ...payRules] });
    const queued = async () => valuesOf(await read(), "turns.queued");
    const client = await openSocket(world);
    client.send({ type: "message", id: "chat-1", messages: [userMessage("pay")] });
    const question = asked(await client.question());
    client.send({ type: "message", id: "chat-1", messages: [userMessage("a story")] });
    await client.until(({ chunks }) => chunks.some((chunk) => chunk.type === "text-delta"));
    await decide(world, question.approvalId, true);
    await expect.poll(queued).toEqual({ "": 1 });
    open();
    await quiet(world);
    expect(await queued()).toEqual({ "": 0 });
    expect(valuesOf(await read(), "turns.started")).toEqual({ "live message": 2, "live settled": 1 });
  });
});

describe("metrics of several nodes", () => {
  const leaseMs = 600;

  it("count the requests for chats of other nodes, and the chats that a node loses", async () => {
    const { read } = installMeter();
    const [story, inbox] = [gate(), gate()];
    const rules: Rule[] = [{ when: /story/, say: [text("One "), pause(story.opened), text("two.")] }];
    let isPaused = false;
    const slow = (store: Store): Store => ({
      ...store,
      takePosted: (filter) => inbox.opened.then(() => store.takePosted(filter)),
      renewChats: (...args) => (isPaused ? new Promise(() => undefined) : store.renewChats(...args)),
    });
    const node = (change: (store: Store) => Store) =>
      openWorld({
        rules,
        bridge: { leaseMs },
        store: () => change(postgresStore({ url: database.url, connections: 4 })),
      });
    const one = await node(slow);
    const other = await node((store) => store);
    const begin = (chat: string) => post(one, "/stream", { id: chat, messages: [userMessage("a story")] });
    const value = async (name: string) => valuesOf(await read(), name)[""];
    const reading = (await begin("chat-1")).text();
    await expect.poll(() => value("leases.held")).toBe(1);
    const stopped = post(other, "/stream/chat-1/stop", "");
    await expect.poll(() => value("inbox.waiting")).toBe(1);
    expect(await value("inbox.posted")).toBe(1);
    inbox.open();
    expect(await (await stopped).json()).toEqual({ stopped: true });
    await reading;
    expect(await value("inbox.waiting")).toBe(0);
    await expect.poll(() => value("leases.held")).toBe(0);

    const lost = (await begin("chat-2")).text().catch(() => undefined);
    await expect.poll(() => value("leases.held")).toBe(1);
    const taken = (await value("leases.taken")) ?? 0;
    isPaused = true;
    const takeOver = async () => {
      await other.bridge.sweep();
      return value("leases.taken");
    };
    // The node may take the chat once more, to show the end of its turn.
    await expect.poll(takeOver).toBeGreaterThan(taken);
    story.open();
    await expect.poll(() => value("leases.lost")).toBe(1);
    await lost;
    await idle(other, "chat-2");
    await expect.poll(() => value("leases.held")).toBe(0);
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
