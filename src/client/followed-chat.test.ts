import type { UIMessageChunk } from "ai";
import { describe, expect, it } from "vitest";
import { followedChat } from "./followed-chat.ts";

/** A chat, requests of it, and the frames of a server that plays its part. */
function open({ maxKept = 100 } = {}) {
  const seen: string[] = [];
  const chat = followedChat("c1", { maxKept, onChunk: (chunk) => void seen.push(word(chunk)) });
  const begin = (turn: string, reply: string, sequence: number) => chat.take({ type: "turn", turn, reply, sequence });
  const say = (text: string, sequence?: number) =>
    chat.take({ type: "chunk", chunk: { type: "text-delta", id: "t", delta: text }, sequence });
  const chunk = (given: UIMessageChunk, sequence?: number) => chat.take({ type: "chunk", chunk: given, sequence });
  const done = () => chat.take({ type: "done" });
  const park = (turn: string, sequence: number) => chat.take({ type: "parked", turn, sequence });
  const accept = (requestId: string, turn: string) => chat.take({ type: "accepted", requestId, turn });
  const ask = (requestId: string, options: { replay?: boolean } = {}) => {
    const results: string[] = [];
    const request = chat.add({
      requestId,
      ...(!options.replay && { message: { messages: [] } }),
      onSettled: (result) => void results.push(String(result)),
    });
    const frame = chat.ask(request);
    return { request, frame, results, read: () => read(request.stream.readable) };
  };
  return { chat, seen, begin, say, chunk, done, park, accept, ask };
}

const word = (chunk: UIMessageChunk) => (chunk.type === "text-delta" ? chunk.delta : chunk.type);

async function read(stream: ReadableStream<UIMessageChunk>): Promise<string> {
  const words: string[] = [];
  for await (const chunk of stream) words.push(word(chunk));
  return words.join(" ");
}

it("tells the page once that messages were withdrawn, and no stream", async () => {
  const { chat, seen, ask, accept, begin, say, done } = open();
  const { read: reading } = ask("r1");
  accept("r1", "t2");
  chat.take({ type: "withdrawn", from: "u1", sequence: 4 });
  // After a lost socket the log is read again from the last entry that came.
  chat.take({ type: "withdrawn", from: "u1", sequence: 4 });
  begin("t2", "m2", 5);
  say("a", 6);
  done();
  expect(seen).toEqual(["data-withdrawn", "a"]);
  expect(await reading()).toBe("a");
});

describe("which request reads which turn", () => {
  it("gives a request the turn it was accepted as, named before it begins", async () => {
    const { ask, accept, begin, say, done } = open();
    const { read: reading } = ask("r1");
    accept("r1", "t1");
    begin("t1", "m1", 1);
    say("a", 2);
    say("b", 3);
    done();
    expect(await reading()).toBe("a b");
  });

  it("gives a request the turn it was accepted as, named while it runs", async () => {
    const { ask, accept, begin, say, done } = open();
    const { read: reading } = ask("r1");
    begin("t1", "m1", 1);
    say("a", 2);
    accept("r1", "t1");
    say("b", 3);
    done();
    expect(await reading()).toBe("a b");
  });

  it("gives a request the turn it was accepted as, named after it is over and another has begun", async () => {
    const { ask, accept, begin, say, done } = open();
    const { read: reading } = ask("r1");
    begin("t1", "m1", 1);
    say("a", 2);
    done();
    begin("t2", "m2", 4);
    say("not this", 5);
    accept("r1", "t1");
    expect(await reading()).toBe("a");
  });

  it("keeps two requests apart, in whichever order they are accepted", async () => {
    const { ask, accept, begin, say, chunk, done } = open();
    const first = ask("r1");
    begin("t1", "m1", 1);
    say("one", 2);
    accept("r1", "t1");
    const second = ask("r2");
    accept("r2", "t2");
    chunk({ type: "abort" }, 3);
    done();
    begin("t2", "m2", 5);
    say("two", 6);
    done();
    expect(await first.read()).toBe("one abort");
    expect(await second.read()).toBe("two");
  });

  it("shows a turn whole to a second request that joined it", async () => {
    const { ask, accept, begin, say, done } = open();
    const first = ask("r1");
    accept("r1", "t1");
    begin("t1", "m1", 1);
    say("a", 2);
    const second = ask("r2");
    accept("r2", "t1");
    say("b", 3);
    done();
    expect([await first.read(), await second.read()]).toEqual(["a b", "a b"]);
  });

  it("closes the stream where the server parks, after everything before", async () => {
    const { ask, accept, begin, say, chunk, park } = open();
    const { read: reading, results } = ask("r1");
    accept("r1", "t1");
    begin("t1", "m1", 1);
    say("pay?", 2);
    chunk({ type: "finish-step" }, 3);
    park("t1", 5);
    expect(await reading()).toBe("pay? finish-step");
    expect(results).toEqual(["begun", "ended"]);
  });

  it("ends a refused request with the server's sentence, and no other", async () => {
    const { chat, ask, accept, begin, say, done } = open();
    const first = ask("r1");
    const second = ask("r2");
    chat.take({ type: "refused", requestId: "r1", code: "conflict", message: "Not now." });
    accept("r2", "t2");
    begin("t2", "m1", 1);
    say("a", 2);
    done();
    await expect(first.read()).rejects.toMatchObject({ name: "BridgeError", code: "conflict", message: "Not now." });
    expect(await second.read()).toBe("a");
  });
});

describe("turns that no request asked for", () => {
  it("come first in the next reply about their message, without their own start and finish", async () => {
    const { ask, accept, begin, say, chunk, park, done } = open();
    ask("r1");
    accept("r1", "t1");
    begin("t1", "m1", 1);
    say("pay?", 2);
    park("t1", 3);
    begin("t2", "m1", 4);
    chunk({ type: "start", messageId: "m1" }, 5);
    say("I wait.", 6);
    chunk({ type: "finish" }, 7);
    done();
    const answer = ask("r2");
    accept("r2", "t3");
    begin("t3", "m1", 9);
    say("paid", 10);
    done();
    expect(await answer.read()).toBe("I wait. paid");
  });

  it("do not get into a reply about another message", async () => {
    const { ask, accept, begin, say, done } = open();
    begin("t1", "m1", 1);
    say("unasked", 2);
    done();
    const { read: reading } = ask("r1");
    accept("r1", "t2");
    begin("t2", "m2", 4);
    say("asked", 5);
    done();
    expect(await reading()).toBe("asked");
  });

  it("are shown once", async () => {
    const { ask, accept, begin, say, done } = open();
    begin("t1", "m1", 1);
    say("unasked", 2);
    done();
    for (const [index, id] of ["r1", "r2"].entries()) {
      const { read: reading } = ask(id);
      accept(id, `answer-${id}`);
      begin(`answer-${id}`, "m1", 10 * (index + 1));
      say(id, 10 * (index + 1) + 1);
      done();
      expect(await reading()).toBe(index === 0 ? "unasked r1" : "r2");
    }
  });

  it("are dropped when there are too many, and a request for such a turn says so", async () => {
    const { ask, accept, begin, say } = open({ maxKept: 1000 });
    const { read: reading } = ask("r1");
    begin("t1", "m1", 1);
    for (let index = 0; index < 10_000; index++) say("word", 2 + index);
    accept("r1", "t1");
    await expect(reading()).rejects.toThrow(/network.*Read the chat again/);
  });

  it("do not take the memory of a turn that is being read", async () => {
    const { ask, accept, begin, say, done } = open({ maxKept: 10 });
    const { read: reading } = ask("r1");
    accept("r1", "t1");
    begin("t1", "m1", 1);
    for (let index = 0; index < 1000; index++) say("w", 2 + index);
    done();
    expect((await reading()).length).toBe(1999);
  });

  it("do not include the turn of a stopped request", async () => {
    const { chat, ask, accept, begin, say, done } = open();
    const stopped = ask("r1");
    expect(chat.abort(stopped.request)).toMatchObject({ type: "interrupt" });
    accept("r1", "t1");
    begin("t1", "m1", 1);
    say("too late", 2);
    done();
    const answer = ask("r2");
    accept("r2", "t2");
    begin("t2", "m1", 4);
    say("answer", 5);
    done();
    expect(await stopped.read()).toBe("");
    expect(await answer.read()).toBe("answer");
  });
});

describe("a lost socket", () => {
  it("is followed by another that goes on after the last number", async () => {
    const { chat, ask, accept, begin, say, done } = open();
    const { read: reading } = ask("r1");
    accept("r1", "t1");
    begin("t1", "m1", 1);
    say("a", 2);
    chat.lost();
    expect(chat.greet()).toEqual([{ type: "attach", id: "c1", after: 2 }]);
    chat.take({ type: "attached", id: "c1", sequence: 4, running: true });
    say("b", 3);
    done();
    expect(await reading()).toBe("a b");
  });

  it("drops the chunks whose number had not come, so that they are not seen twice", async () => {
    const { chat, ask, accept, begin, say, done, seen } = open();
    const { read: reading } = ask("r1");
    accept("r1", "t1");
    begin("t1", "m1", 1);
    say("a", 2);
    say("b");
    say("c");
    chat.lost();
    chat.greet();
    say("b");
    say("c");
    say("d", 3);
    done();
    expect(await reading()).toBe("a b c d");
    expect(seen).toEqual(["a", "b", "c", "d"]);
  });

  it("skips the chunks that the server sends again", async () => {
    const { ask, accept, begin, say, done } = open();
    const { read: reading } = ask("r1");
    accept("r1", "t1");
    begin("t1", "m1", 1);
    say("a", 2);
    begin("t1", "m1", 1);
    say("a", 2);
    say("b", 3);
    done();
    expect(await reading()).toBe("a b");
  });

  it("repeats only the requests that the server may not have received", () => {
    const { chat, ask, accept, begin, say } = open();
    ask("r1");
    accept("r1", "t1");
    begin("t1", "m1", 1);
    say("a", 2);
    ask("r2");
    const unsent = chat.add({ requestId: "r3", message: { messages: [] }, onSettled: () => undefined });
    chat.lost();
    expect(chat.greet()).toEqual([
      { type: "attach", id: "c1", after: 2 },
      { type: "message", id: "c1", requestId: "r2", messages: [], resend: true },
      { type: "message", id: "c1", requestId: "r3", messages: [] },
    ]);
    expect(unsent.sent).toBe(true);
  });

  it("repeats a request whose turn brought no chunk, and reads that turn if it comes after all", async () => {
    const { chat, ask, accept, begin, say, done } = open();
    const { read: reading } = ask("r1");
    accept("r1", "t1");
    begin("t1", "m1", 1);
    chat.lost();
    expect(chat.greet()).toMatchObject([
      { type: "attach", after: 1 },
      { type: "message", requestId: "r1", resend: true },
    ]);
    say("a", 2);
    accept("r1", "t1");
    say("b", 3);
    done();
    expect(await reading()).toBe("a b");
  });

  it("loses nothing of a reply that is not in the log: it is asked for again, and seen once", async () => {
    const { chat, ask, accept, begin, say, done } = open();
    const { read: reading } = ask("r1");
    accept("r1", "aside-1");
    begin("aside-1", "m1", 0);
    say("half");
    chat.lost();
    expect(chat.greet()).toEqual([{ type: "message", id: "c1", requestId: "r1", messages: [], resend: true }]);
    accept("r1", "aside-2");
    begin("aside-2", "m1", 0);
    say("half");
    say("whole");
    done();
    expect(await reading()).toBe("half whole");
  });

  it("may hide the acceptance of a turn that was seen whole", async () => {
    const { chat, ask, accept, begin, say, done } = open();
    const { read: reading } = ask("r1");
    begin("t1", "m1", 1);
    say("a", 2);
    done();
    chat.lost();
    expect(chat.greet()).toMatchObject([{ after: 2 }, { requestId: "r1", resend: true }]);
    chat.take({ type: "attached", id: "c1", sequence: 3, running: false });
    done(); // its end has no number, so it comes again
    accept("r1", "t1");
    expect(await reading()).toBe("a");
  });

  it("shows an outcome once when the turn and the repetition of the answer both bring it", async () => {
    const { chat, ask, accept, begin, say, chunk, done } = open();
    begin("t0", "m0", 1);
    done();
    const outcome = { type: "tool-output-available", toolCallId: "c1", output: {} } as const;
    const { read: reading } = ask("r1");
    chat.lost();
    chat.greet();
    begin("t1", "m1", 3);
    chunk(outcome, 4);
    say("paid", 5);
    done();
    accept("r1", "aside-1");
    begin("aside-1", "m1", 5);
    chunk(outcome);
    chunk({ type: "start-step" });
    done();
    expect(await reading()).toBe("tool-output-available paid");
  });

  it("still passes on an outcome that was not shown before", async () => {
    const { ask, accept, begin, say, chunk, done } = open();
    begin("t1", "m1", 1);
    say("I wait.", 2);
    done();
    const { read: reading } = ask("r1");
    begin("aside-1", "m1", 2);
    chunk({ type: "tool-output-denied", toolCallId: "c1" });
    done();
    accept("r1", "aside-1");
    expect(await reading()).toBe("I wait. tool-output-denied");
  });

  it("keeps no repetition that a later reply would begin with", async () => {
    const { ask, accept, begin, say, done } = open();
    const first = ask("r1");
    accept("r1", "t1");
    begin("t1", "m1", 1);
    say("a", 2);
    accept("r1", "aside-1");
    done();
    begin("aside-1", "m1", 3);
    say("again");
    done();
    begin("aside-2", "m1", 3);
    say("and again");
    done();
    accept("r1", "aside-2");
    const second = ask("r2");
    accept("r2", "t2");
    begin("t2", "m1", 4);
    say("b", 5);
    done();
    expect([await first.read(), await second.read()]).toEqual(["a", "b"]);
  });

  it("ends a stream whose chat the server has lost", async () => {
    const { chat, ask, accept, begin, say } = open();
    const { read: reading } = ask("r1");
    accept("r1", "t1");
    begin("t1", "m1", 1);
    say("a", 2);
    chat.lost();
    chat.greet();
    chat.take({ type: "attached", id: "c1", sequence: 0, running: false });
    const reason = await reading().catch((error: unknown) => error);
    expect(reason).toBeInstanceOf(TypeError);
    expect(String(reason)).toContain("network");
    chat.lost();
    expect(chat.greet()).toEqual([{ type: "attach", id: "c1", after: 0 }]);
  });

  it("does not repeat a request that was stopped meanwhile, but tells the server", () => {
    const { chat, ask } = open();
    const { request } = ask("r1");
    chat.lost();
    chat.abort(request);
    chat.interruptLater();
    chat.lost();
    expect(chat.greet()).toMatchObject([{ type: "attach", id: "c1" }, { type: "interrupt" }]);
    chat.lost();
    expect(chat.greet()).toEqual([{ type: "attach", id: "c1" }]);
  });
});

describe("a replay", () => {
  it("is the turn that begins after the server has said `attached`", async () => {
    const { chat, ask, begin, say, done } = open();
    begin("t1", "m1", 5);
    say("seen before", 6);
    const replay = ask("r1", { replay: true });
    expect(replay.frame).toEqual({ type: "attach", id: "c1", requestId: "r1" });
    say("still of the old reading", 7);
    chat.take({ type: "attached", id: "c1", sequence: 7, running: true });
    begin("t1", "m1", 5);
    say("earlier parts");
    say("seen before", 6);
    say("still of the old reading", 7);
    done();
    expect(await replay.read()).toBe("earlier parts seen before still of the old reading");
    expect(replay.results).toEqual(["begun", "ended"]);
  });

  it("is nothing if no turn runs, and later turns are followed", () => {
    const { chat, ask } = open();
    const replay = ask("r1", { replay: true });
    chat.take({ type: "attached", id: "c1", sequence: 7, running: false });
    expect(replay.results).toEqual(["nothing"]);
    chat.lost();
    expect(chat.greet()).toEqual([{ type: "attach", id: "c1", after: 7 }]);
  });

  it("is asked for again when the socket is lost before it began, and goes on when it had", async () => {
    const { chat, ask, begin, say, done } = open();
    const replay = ask("r1", { replay: true });
    chat.take({ type: "attached", id: "c1", sequence: 7, running: true });
    chat.lost();
    expect(chat.greet()).toEqual([{ type: "attach", id: "c1", requestId: "r1" }]);
    chat.take({ type: "attached", id: "c1", sequence: 7, running: true });
    begin("t1", "m1", 5);
    say("a", 6);
    chat.lost();
    expect(chat.greet()).toEqual([{ type: "attach", id: "c1", after: 6 }]);
    say("b", 7);
    done();
    expect(await replay.read()).toBe("a b");
  });
});
