import { describe, expect, it, vi } from "vitest";
import { approvalOutbox, type OutboxOptions, type SentAnswer } from "./approval-outbox.ts";
import type { ServerReply } from "./server-requests.ts";

type Reply = Pick<ServerReply<{ approval?: object }>, "status" | "body" | "retryAfter">;
const row = (state: string) => ({ approvalId: "a1", toolCallId: "c1", toolName: "pay", state });

/** An outbox with a clock that the test moves, a tab's storage, and a server that replies as it is told. */
function open(
  reply: () => Reply | undefined,
  items = new Map<string, string>(),
  chatId = "chat-1",
  whose: Pick<OutboxOptions, "actor" | "api"> = {},
) {
  const clock = { now: 1_000_000 };
  const timers: { at: number; run: () => void }[] = [];
  const sent: { path: string; body: Record<string, unknown> }[] = [];
  const changes: SentAnswer[] = [];
  const server: Parameters<typeof approvalOutbox>[1] = {
    async json(path, request) {
      sent.push({ path, body: (request?.body ?? {}) as Record<string, unknown> });
      const given = reply();
      if (!given) throw new TypeError("fetch failed");
      return { ...given, clockOffset: 0 } as never;
    },
  };
  const options: OutboxOptions = {
    ...whose,
    storage: {
      getItem: (key) => items.get(key) ?? null,
      setItem: (key, value) => void items.set(key, value),
      removeItem: (key) => void items.delete(key),
    },
    now: () => clock.now,
    random: () => 0,
    timers: {
      setTimeout(callback, ms) {
        const timer = { at: clock.now + ms, run: callback };
        timers.push(timer);
        return timer;
      },
      clearTimeout: (timer) => void timers.splice(0, timers.length, ...timers.filter((each) => each !== timer)),
    },
  };
  const outbox = approvalOutbox(options, server, chatId, (answer) => void changes.push(answer));
  /** Lets time pass, also much of it at once, as after a sleep. */
  const pass = async (ms: number) => {
    clock.now += ms;
    for (const timer of timers.filter(({ at }) => at <= clock.now)) {
      timers.splice(timers.indexOf(timer), 1);
      timer.run();
    }
    await vi.waitFor(() => undefined);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { outbox, sent, changes, pass, items, timers };
}

describe("an outbox", () => {
  it("sends nothing while it is closed, and goes on when it is opened again", async () => {
    let isAway = true;
    const { outbox, sent, pass } = open(() =>
      isAway ? undefined : { status: 200, body: { approval: row("approved") } },
    );
    outbox.open();
    const answered = outbox.send("a1", { approved: true });
    outbox.close();
    await pass(60_000);
    expect(sent).toHaveLength(1);
    isAway = false;
    outbox.open();
    await answered;
    expect(sent).toHaveLength(2);
    expect(sent[1]?.body).toEqual(sent[0]?.body);
  });

  it("does not send an answer of another person who was signed in before", async () => {
    const items = new Map<string, string>();
    const before = open(() => undefined, items, "chat-1", { actor: "hanako" });
    void before.outbox.send("a1", { approved: true }).catch(() => undefined);
    await before.pass(0);
    before.outbox.close();

    const other = open(() => ({ status: 200, body: { approval: row("approved") } }), items, "chat-1", {
      actor: "taro",
    });
    other.outbox.open();
    await other.pass(0);
    expect(other.sent).toEqual([]);
    expect(other.outbox.get("a1")).toBeUndefined();

    const again = open(() => ({ status: 200, body: { approval: row("approved") } }), items, "chat-1", {
      actor: "hanako",
    });
    again.outbox.open();
    await again.pass(0);
    expect(again.sent).toHaveLength(1);
  });

  it("keeps the answers to two servers of one origin apart", async () => {
    const items = new Map<string, string>();
    const before = open(() => undefined, items, "chat-1", { api: "/sales" });
    void before.outbox.send("a1", { approved: true }).catch(() => undefined);
    await before.pass(0);
    before.outbox.close();

    const other = open(() => ({ status: 404, body: {} }), items, "chat-1", { api: "/support" });
    other.outbox.open();
    await other.pass(0);
    expect(other.sent).toEqual([]);
    expect(items.size).toBe(1);
  });

  it("sends an answer again with the same key until the server has recorded it", async () => {
    let isAway = true;
    const { outbox, sent, pass, items } = open(() =>
      isAway ? undefined : { status: 200, body: { approval: row("approved") } },
    );
    const answered = outbox.send("a1", { approved: true, reason: "ok" });
    await pass(0);
    await pass(10_000);
    expect([sent.length, items.size, outbox.get("a1")?.decided]).toEqual([2, 1, undefined]);
    isAway = false;
    await pass(10_000);
    await answered;
    expect(new Set(sent.map(({ body }) => body["key"])).size).toBe(1);
    expect(sent.at(-1)).toMatchObject({ path: "/approvals/a1", body: { approved: true, reason: "ok" } });
    expect([items.size, outbox.get("a1")?.decided?.state]).toEqual([0, "approved"]);
  });

  it("keeps the answer for the next load of the same tab and chat", async () => {
    const before = open(() => undefined);
    void before.outbox.send("a1", { approved: false }).catch(() => undefined);
    await before.pass(0);
    before.outbox.close();
    const other = open(() => undefined, before.items, "chat-2");
    other.outbox.open();
    expect(other.sent).toEqual([]);
    const after = open(() => ({ status: 200, body: { approval: row("denied") } }), before.items);
    after.outbox.open();
    await after.pass(0);
    expect(after.sent.map(({ body }) => body)).toEqual(before.sent.map(({ body }) => body));
    expect(after.items.size).toBe(0);
  });

  it("does not send an answer of long ago, for example after a sleep", async () => {
    const { outbox, sent, pass, items } = open(() => undefined);
    const answered = outbox.send("a1", { approved: true });
    await pass(0);
    const refused = answered.catch((error: Error) => error.message);
    await pass(3_600_000);
    expect(await refused).toContain("too old");
    expect([sent.length, items.size]).toEqual([1, 0]);
    expect(outbox.get("a1")?.problem).toContain("Answer again");
  });

  it("goes on without a connection until the answer is too old: only replies that settle nothing are counted", async () => {
    let isAway = true;
    const { outbox, sent, pass } = open(() =>
      isAway ? undefined : { status: 200, body: { approval: row("denied") } },
    );
    const answered = outbox.send("a1", { approved: false });
    for (let second = 0; second < 300; second += 1) await pass(1000);
    expect(sent.length).toBeGreaterThan(12);
    expect(outbox.get("a1")?.problem).toBeUndefined();
    isAway = false;
    await pass(10_000);
    await answered;
    expect(outbox.get("a1")?.decided?.state).toBe("denied");
  });

  it("is sent at once when the server can be reached again", async () => {
    let isAway = true;
    const { outbox, sent, pass } = open(() =>
      isAway ? undefined : { status: 200, body: { approval: row("approved") } },
    );
    const answered = outbox.send("a1", { approved: true });
    await pass(0);
    isAway = false;
    outbox.wake();
    outbox.wake();
    await answered;
    expect(sent).toHaveLength(2);
  });

  it("waits as long as a busy server asks for, also if it can be reached", async () => {
    let reply: Reply = { status: 503, body: {}, retryAfter: 20 };
    const { outbox, sent, pass } = open(() => reply);
    const answered = outbox.send("a1", { approved: true });
    await pass(0);
    await pass(19_000);
    outbox.wake();
    await pass(0);
    expect(sent).toHaveLength(1);
    reply = { status: 200, body: { approval: row("approved") } };
    await pass(1000);
    await answered;
    expect(sent).toHaveLength(2);
  });

  it("works without a storage that the browser lets it use", async () => {
    const forbidden = new Proxy(new Map<string, string>(), {
      get() {
        throw new Error("The operation is insecure.");
      },
    });
    const { outbox } = open(() => ({ status: 200, body: { approval: row("approved") } }), forbidden);
    outbox.open();
    await outbox.send("a1", { approved: true });
    expect(outbox.get("a1")?.decided?.state).toBe("approved");
  });

  it("says which decision counts if another one came first", async () => {
    const { outbox } = open(() => ({ status: 409, body: { approval: row("denied"), message: "Too late." } }));
    await outbox.send("a1", { approved: true });
    expect(outbox.get("a1")).toMatchObject({ approved: true, decidedElsewhere: true, decided: { state: "denied" } });
  });

  it.each([400, 401, 403, 404, 413])("does not repeat an answer that is refused with %s", async (status) => {
    const { outbox, sent, timers } = open(() => ({ status, body: { message: "No." } }));
    await expect(outbox.send("a1", { approved: true })).rejects.toThrow("No.");
    expect([sent.length, timers.length]).toEqual([1, 0]);
  });

  it("lets another answer take the place of one that was not delivered, with another key", async () => {
    let status = 404;
    const { outbox, sent } = open(() => ({ status, body: status === 200 ? { approval: row("denied") } : {} }));
    await expect(outbox.send("a1", { approved: true })).rejects.toThrow("404");
    status = 200;
    await outbox.send("a1", { approved: false });
    expect(sent.map(({ body }) => body["approved"])).toEqual([true, false]);
    expect(sent[0]?.body["key"]).not.toBe(sent[1]?.body["key"]);
  });

  it.each(["{", "null", '{"a1":null}', '{"a2":{"approved":"yes"}}'])("ignores what other code has left: %s", (left) => {
    const { outbox, sent } = open(
      () => undefined,
      new Map([
        ['adk-stream-protocol:answers:["chat-1",null,null]', left],
        ["other", "1"],
      ]),
    );
    outbox.open();
    outbox.close();
    expect(sent).toEqual([]);
  });
});
