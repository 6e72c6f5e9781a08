import { expect, test, vi } from "vitest";
import type { Bridge, LogEntry, Reply } from "../../agent/index.ts";
import { SentMessages } from "./sent-messages.ts";

const message = { owner: "alice", chat: "chat", id: "u1" };

/** A turn that is over when the test says so. */
function openTurn(id: string) {
  let end = () => {};
  const done = new Promise<void>((resolve) => (end = resolve));
  return { reply: { chat: "chat", turn: { id, after: 0, done } } as unknown as Reply, end: () => end() };
}

/** A bridge whose log has these entries. */
function bridgeWith(...entries: LogEntry[]): Pick<Bridge, "approvals" | "follow"> {
  return {
    approvals: async () => ({ approvals: [], sequence: entries.length, running: false }),
    follow: async () =>
      (async function* () {
        for (const entry of entries) yield [entry];
      })(),
  };
}

const began = (sequence: number, turn: string, id: string): LogEntry => ({
  kind: "begin",
  turn,
  sequence,
  at: 0,
  reply: "m",
  message: { id, role: "user", parts: [] },
});

test("a message that is sent again while its turn runs is not submitted again", async () => {
  const sent = new SentMessages(bridgeWith());
  const { reply } = openTurn("t1");
  const submit = vi.fn(async () => reply);
  expect(await sent.send(message, submit)).toBe(reply);
  expect(await sent.sendAgain(message, submit)).toBe(reply);
  expect(submit).toHaveBeenCalledTimes(1);
});

test("a message whose turn is over is found in the log", async () => {
  const sent = new SentMessages(bridgeWith(began(1, "t0", "u0"), began(2, "t1", "u1")));
  const { reply, end } = openTurn("t1");
  await sent.send(message, async () => reply);
  end();
  await vi.waitFor(async () =>
    expect(await sent.sendAgain(message, () => Promise.reject(new Error("again")))).toEqual({
      turn: { id: "t1", after: 1 },
    }),
  );
});

test("a message that never arrived is submitted", async () => {
  const { reply } = openTurn("t1");
  expect(await new SentMessages(bridgeWith()).sendAgain(message, async () => reply)).toBe(reply);
  const other = new SentMessages(bridgeWith(began(1, "t0", "u0")));
  expect(await other.sendAgain(message, async () => reply)).toBe(reply);
});

test("a message of another owner or chat is another message", async () => {
  const sent = new SentMessages(bridgeWith());
  const submit = vi.fn(async () => openTurn("t").reply);
  for (const each of [message, { ...message, owner: "bob" }, { ...message, chat: "other" }])
    await sent.sendAgain(each, submit);
  expect(submit).toHaveBeenCalledTimes(3);
});

test("a request is submitted once by its id, and always if it has none", async () => {
  const sent = new SentMessages(bridgeWith());
  const submit = vi.fn(async () => openTurn("t").reply);
  const request = { owner: "alice", chat: "c", requestId: "r1" };
  for (let i = 0; i < 2; i++) await sent.once(request, submit);
  expect(submit).toHaveBeenCalledTimes(1);
  for (let i = 0; i < 2; i++) await sent.once({ ...request, requestId: undefined }, submit);
  expect(submit).toHaveBeenCalledTimes(3);
});

test("a request of another owner or chat is another request, even with the same id", async () => {
  const sent = new SentMessages(bridgeWith());
  const submit = vi.fn(async () => openTurn("t").reply);
  const request = { owner: "alice", chat: "c", requestId: "r1" };
  for (const each of [request, { ...request, owner: "bob" }, { ...request, chat: "other" }])
    await sent.once(each, submit);
  expect(submit).toHaveBeenCalledTimes(3);
});

test("a request that failed may be sent again", async () => {
  const sent = new SentMessages(bridgeWith());
  const { reply } = openTurn("t");
  const request = { owner: "alice", chat: "c", requestId: "r1" };
  await expect(sent.once(request, () => Promise.reject(new Error("refused")))).rejects.toThrow("refused");
  expect(await sent.once(request, async () => reply)).toBe(reply);
});

test("a message that was edited since is another one, in memory and in the log", async () => {
  const parts = [{ type: "text" as const, text: "edited" }];
  const [first, second] = [openTurn("t1"), openTurn("t2")];
  const sent = new SentMessages(bridgeWith(began(1, "t1", "u1")));
  await sent.send({ ...message, parts: [] }, async () => first.reply);
  expect(await sent.sendAgain({ ...message, parts }, async () => second.reply)).toBe(second.reply);
  const log = new SentMessages(bridgeWith(began(1, "t1", "u1"), began(5, "t2", "u1")));
  expect(await log.sendAgain({ ...message, parts: [] }, () => Promise.reject(new Error("again")))).toEqual({
    turn: { id: "t2", after: 4 },
  });
});
