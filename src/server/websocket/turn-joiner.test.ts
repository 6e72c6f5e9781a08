import type { UIMessageChunk } from "ai";
import { describe, expect, test } from "vitest";
import type { LogEntry } from "../../agent/index.ts";
import { TurnJoiner } from "./turn-joiner.ts";

/** A log in short: `begin turn message`, a chunk's type, `finish` and `asks` (finish with tool-calls), `end`. */
function log(...words: string[]): LogEntry[] {
  let turn = "";
  let reply = "";
  return words.map((word, index): LogEntry => {
    const place = { sequence: index + 1, at: 0 };
    const [kind, name, message] = word.split(" ");
    if (kind === "begin") [turn, reply] = [name!, message!];
    switch (kind) {
      case "begin":
        return { ...place, turn, kind: "begin", reply };
      case "end":
        return { ...place, turn: name ?? turn, kind: "end" };
      case "withdraw":
        return { ...place, turn, kind: "withdraw", from: 1 };
      case "start":
        return { ...place, turn, kind: "chunk", chunk: { type: "start", messageId: reply } };
      case "question":
        return { ...place, turn, kind: "chunk", chunk: question("pending", name!) };
      case "answer":
        return { ...place, turn, kind: "chunk", chunk: question("approved", name!) };
      case "asks":
        return { ...place, turn, kind: "chunk", chunk: { type: "finish", finishReason: "tool-calls" } };
      default:
        return { ...place, turn: name ?? turn, kind: "chunk", chunk: { type: kind } as UIMessageChunk };
    }
  });
}

function question(state: string, approvalId: string): UIMessageChunk {
  return { type: "data-approval", id: approvalId, data: { approvalId, state } };
}

/** What a socket is told, in short. */
function told(entries: readonly LogEntry[], turns = new TurnJoiner()): string {
  return entries
    .flatMap((entry) => turns.next(entry, entry.kind === "chunk" ? [entry.chunk] : []))
    .map((output) => {
      if (output.kind === "chunk") return output.chunk.type;
      return output.kind === "done" ? "[DONE]" : `${output.kind}:${output.turn}@${output.sequence}`;
    })
    .join(" ");
}

describe("the log on one socket", () => {
  test("a turn is told whole, with one [DONE]", () => {
    expect(told(log("begin a m", "start", "start-step", "finish-step", "finish", "end"))).toBe(
      "turn:a@1 start start-step finish-step finish [DONE]",
    );
  });

  test("a turn that asks has no end, and its continuation no beginning", () => {
    const entries = log("begin a m", "start", "finish-step", "asks", "end", "begin b m", "start", "finish", "end");
    expect(told(entries)).toBe("turn:a@1 start finish-step parked:a@5 turn:b@6 finish [DONE]");
  });

  test("asking twice in one message is one message still", () => {
    const asks = (turn: string) => [`begin ${turn} m`, "start", "finish-step", "asks", "end"];
    expect(told(log(...asks("a"), ...asks("b"), "begin c m", "start", "finish", "end"))).toBe(
      "turn:a@1 start finish-step parked:a@5 turn:b@6 finish-step parked:b@10 turn:c@11 finish [DONE]",
    );
  });

  test("a turn that waits says whether its last chunk ended a step", () => {
    const parked = (...words: string[]) => {
      const turns = new TurnJoiner();
      return log("begin a m", ...words, "asks", "end")
        .flatMap((entry) => turns.next(entry, entry.kind === "chunk" ? [entry.chunk] : []))
        .at(-1);
    };
    expect(parked("start", "start-step", "finish-step")).toMatchObject({ kind: "parked", endsWithStep: true });
    expect(parked("start", "tool-output-available")).toMatchObject({ kind: "parked", endsWithStep: false });
    expect(parked("start")).toMatchObject({ kind: "parked", endsWithStep: false });
  });

  test("a client that waits for questions only gets the end of a turn that waits for something else", () => {
    const toldPlain = (...words: string[]) => told(log(...words), new TurnJoiner({ waitsForQuestionsOnly: true }));
    const waits = ["start", "finish-step", "asks", "end"];
    const goesOn = ["begin z m", "start", "finish", "end"];
    expect(toldPlain("begin a m", ...waits, ...goesOn)).toBe(
      "turn:a@1 start finish-step finish [DONE] turn:z@6 start finish [DONE]",
    );
    expect(toldPlain("begin a m", "question q", ...waits, ...goesOn)).toBe(
      "turn:a@1 data-approval start finish-step parked:a@6 turn:z@7 finish [DONE]",
    );
    // One of two answers: the other question of the message is still open.
    const both = ["begin a m", "question q", "question r", ...waits];
    expect(toldPlain(...both, "begin b m", "answer q", ...waits)).toMatch(/ parked:b@13$/);
    expect(toldPlain(...both, "begin b m", "answer q", "answer r", ...waits)).toMatch(/ finish \[DONE\]$/);
    // A question of another message.
    expect(toldPlain(...both, "begin b n", ...waits)).toMatch(/ finish \[DONE\]$/);
  });

  test("another message begins, and after it the open one begins again", () => {
    const asks = ["begin a m", "start", "finish-step", "asks", "end"];
    const other = ["begin b n", "start", "finish", "end"];
    const goesOn = ["begin c m", "start", "finish", "end"];
    expect(told(log(...asks, ...other, ...goesOn))).toBe(
      "turn:a@1 start finish-step parked:a@5 turn:b@6 start finish [DONE] turn:c@10 start finish [DONE]",
    );
  });

  test("a continuation of a message that was finished begins again", () => {
    const turn = (name: string) => [`begin ${name} m`, "start", "finish", "end"];
    expect(told(log(...turn("a"), ...turn("b")))).toBe("turn:a@1 start finish [DONE] turn:b@5 start finish [DONE]");
  });

  test("a continuation on a socket that did not see the question begins with start", () => {
    expect(told(log("begin b m", "start", "finish", "end"))).toBe("turn:b@1 start finish [DONE]");
  });

  test.each(["error", "abort"])("a turn that ends with %s has its [DONE]", (last) => {
    expect(told(log("begin a m", "start", last, "end"))).toBe(`turn:a@1 start ${last} [DONE]`);
  });

  test("a turn that ends without saying how was cut off: its reply is withdrawn, and it has its [DONE]", () => {
    expect(told(log("begin a m", "start", "text-end", "end"))).toBe("turn:a@1 start text-end withdrawn:a@4 [DONE]");
    expect(told(log("begin a m", "end"))).toBe("turn:a@1 withdrawn:a@2 [DONE]");
  });

  test("a turn that was left without an end gets its [DONE] before the next one", () => {
    expect(told(log("begin a m", "start", "begin b n", "start", "finish", "end"))).toBe(
      "turn:a@1 start [DONE] turn:b@3 start finish [DONE]",
    );
  });

  test("a chunk after a parked finish is told, and the turn is not parked", () => {
    expect(told(log("begin a m", "start", "asks", "error", "end"))).toBe("turn:a@1 start error [DONE]");
  });

  test("what was taken back is not told as such", () => {
    expect(told(log("begin a m", "start", "withdraw", "finish", "end"))).toBe("turn:a@1 start finish [DONE]");
  });

  test("a turn that began before the socket listened is not told, nor ended", () => {
    expect(told(log("text-delta old", "end old", "begin a m", "start", "finish", "end"))).toBe(
      "turn:a@3 start finish [DONE]",
    );
  });

  test("says whether something may come in between", () => {
    const turns = new TurnJoiner();
    const sending = log("begin a m", "start", "asks", "end", "begin b m", "end").map((entry) => {
      turns.next(entry);
      return turns.isSending;
    });
    expect(sending).toEqual([true, true, true, false, true, false]);
  });

  test("only the last of the chunks that one became has its number", () => {
    const turns = new TurnJoiner();
    const [begin, chunk] = log("begin a m", "finish-step");
    turns.next(begin!);
    const outputs = turns.next(chunk!, [{ type: "finish-step" }, { type: "start-step" }]);
    expect(outputs).toEqual([
      { kind: "chunk", chunk: { type: "finish-step" } },
      { kind: "chunk", chunk: { type: "start-step" }, sequence: 2 },
    ]);
  });
});

test("entries of a kind that only a later release knows are left out", () => {
  const later = { turn: "1", kind: "later", sequence: 9, at: 0 } as unknown as LogEntry;
  const [begin, ...rest] = log("begin 1 m", "start", "finish", "end");
  if (!begin) throw new Error("The log is empty.");
  expect(told([begin, later, ...rest])).toBe(told([begin, ...rest]));
});
