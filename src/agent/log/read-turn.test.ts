import { describe, expect, it } from "vitest";
import type { NewLogEntry } from "../../stores/index.ts";
import { memoryStore } from "../../stores/memory.ts";
import { readTurn, type ReadOptions } from "./read-turn.ts";

const begin = (turn: string, reply = "msg_1"): NewLogEntry[] => [
  { turn, kind: "begin", reply },
  { turn, kind: "chunk", chunk: { type: "start", messageId: reply } },
];
const word = (turn: string, delta: string): NewLogEntry => {
  return { turn, kind: "chunk", chunk: { type: "text-delta", id: "1", delta } };
};
const finish = (turn: string): NewLogEntry[] => [
  { turn, kind: "chunk", chunk: { type: "finish" } },
  { turn, kind: "end" },
];

/** A chat's log, and the reader of one of its turns. */
async function open(entries: readonly NewLogEntry[], id = "t1") {
  const store = memoryStore();
  const { id: chat } = await store.openChat({ owner: "me", name: "chat", appName: "app" });
  await store.append(chat, entries);
  let end = () => {};
  const done = new Promise<void>((resolve) => (end = resolve));
  const after = entries.findIndex(({ turn, kind }) => turn === id && kind === "begin");
  const read = async (options: ReadOptions = {}) => {
    const seen: string[] = [];
    for await (const chunks of readTurn(store, chat, { id, reply: "msg_1", after, done }, options))
      for (const { sequence, chunk } of chunks)
        seen.push(`${sequence} ${chunk.type === "text-delta" ? chunk.delta : chunk.type}`);
    return seen;
  };
  const trim = () => store.trimChunks({ before: Infinity, limit: 10 });
  const remove = () => store.deleteSession(chat);
  return { read, end, trim, remove, append: (...more: NewLogEntry[]) => store.append(chat, more) };
}

describe("reading a turn", () => {
  it("gives its chunks and no other turn's, with their sequence numbers", async () => {
    const earlier = [...begin("t0"), ...finish("t0")];
    const { read } = await open([...earlier, ...begin("t1"), word("t2", "other"), word("t1", "mine"), ...finish("t1")]);
    expect(await read()).toEqual(["6 start", "8 mine", "9 finish"]);
  });

  it("gives chunks as they are written, until the turn ends", async () => {
    const { read, append } = await open(begin("t1"));
    const reading = read();
    await append(word("t1", "one"));
    await append(word("t1", "two"), ...finish("t1"));
    expect(await reading).toEqual(["2 start", "3 one", "4 two", "5 finish"]);
  });

  it("leaves out what the reader has, but never begins before the turn", async () => {
    const { read } = await open([...begin("t0"), ...finish("t0"), ...begin("t1"), word("t1", "one"), ...finish("t1")]);
    expect(await read({ after: 6 })).toEqual(["7 one", "8 finish"]);
    expect(await read({ after: 0 })).toEqual(["6 start", "7 one", "8 finish"]);
  });

  it("adds what other turns have written to the same message since then, after its start", async () => {
    const missed = [...begin("t0"), word("t0", "missed"), ...finish("t0")];
    const other = [...begin("tx", "msg_2"), word("tx", "of another message"), ...finish("tx")];
    const { read } = await open([...missed, ...other, ...begin("t1"), word("t1", "mine"), ...finish("t1")]);
    expect(await read({ since: 0 })).toEqual(["12 start", "3 missed", "13 mine", "14 finish"]);
    expect(await read()).toEqual(["12 start", "13 mine", "14 finish"]);
  });

  it("fails if the turn stops without an end, because it would look finished", async () => {
    const { read, end } = await open([...begin("t1"), word("t1", "one")]);
    const reading = read();
    end();
    await expect(reading).rejects.toMatchObject({ code: "unavailable" });
  });

  it("fails if its chunks were removed, because there would be a gap", async () => {
    const other = [...begin("tx", "msg_2"), word("tx", "of another message"), ...finish("tx")];
    const { read, trim } = await open([...other, ...begin("t1"), word("t1", "one"), ...finish("t1")]);
    await trim();
    for (const options of [{}, { since: 0 }, { after: 6 }])
      await expect(read(options)).rejects.toThrow("Part of this message is no longer in the log.");
  });

  it("fails if chunks of the same message were removed that the reader has missed", async () => {
    const { read, trim, append } = await open([...begin("t0"), word("t0", "missed"), ...finish("t0")], "t1");
    await trim();
    await append(...begin("t1"), word("t1", "mine"), ...finish("t1"));
    await expect(read({ since: 0 })).rejects.toThrow("Part of this message is no longer in the log.");
    expect(await read()).toEqual(["7 start", "8 mine", "9 finish"]);
  });

  it("does not need the removed chunks of other messages", async () => {
    const other = [...begin("tx", "msg_2"), word("tx", "of another message"), ...finish("tx")];
    const { read, trim, append } = await open(other, "t1");
    await trim();
    await append(...begin("t1"), word("t1", "mine"), ...finish("t1"));
    expect(await read({ since: 0 })).toEqual(["7 start", "8 mine", "9 finish"]);
  });

  it("fails when the chat is deleted, whether or not the turn has ended by then", async () => {
    const { read, remove, end } = await open([...begin("t1"), word("t1", "one")]);
    const reading = read();
    await remove();
    await expect(reading).rejects.toThrow("This chat was deleted.");
    end();
    await expect(read()).rejects.toThrow("This chat was deleted.");
  });

  it("ends without a failure when the reader leaves", async () => {
    const { read } = await open(begin("t1"));
    const controller = new AbortController();
    const reading = read({ signal: controller.signal });
    controller.abort();
    expect(await reading).toEqual(["2 start"]);
  });
});
