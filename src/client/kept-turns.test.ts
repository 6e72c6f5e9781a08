import type { UIMessageChunk } from "ai";
import { describe, expect, it } from "vitest";
import { KeptTurns } from "./kept-turns.ts";

const chunk: UIMessageChunk = { type: "start" };

function open(maxChunks = 10) {
  const turns = new KeptTurns(maxChunks);
  const add = (id: string, { reply = "m1", isClaimed = false, chunks = 0 } = {}) => {
    const turn = turns.add({ id, reply, isClaimed });
    turns.addChunks(
      turn,
      Array.from({ length: chunks }, () => chunk),
    );
    return turn;
  };
  const kept = (...ids: string[]) => ids.filter((id) => turns.find(id));
  return { turns, add, kept };
}

describe("KeptTurns", () => {
  it("finds a turn by its id, with its chunks", () => {
    const { turns, add } = open();
    const turn = add("t1", { chunks: 2 });
    expect(turns.find("t1")).toBe(turn);
    expect(turn.chunks).toHaveLength(2);
    expect(turns.find("t2")).toBeUndefined();
  });

  it("knows which turns of the same message came before and were not claimed", () => {
    const { turns, add } = open();
    const first = add("t1");
    add("t2", { isClaimed: true });
    add("t3", { reply: "m2" });
    const fourth = add("t4");
    const last = add("t5");
    expect(turns.unclaimedBefore(last)).toEqual([first, fourth]);
    expect(turns.unclaimedBefore(first)).toEqual([]);
    turns.clear();
    expect(turns.unclaimedBefore(last)).toEqual([]);
  });

  it("forgets claimed turns and turns of older messages, but not the current one", () => {
    const { turns, add, kept } = open();
    const current = add("t1", { reply: "m1", isClaimed: true });
    add("t2", { reply: "m1" });
    add("t3", { reply: "m2", isClaimed: true });
    add("t4", { reply: "m2" });
    turns.trim({ current, mayBeAccepted: false });
    expect(kept("t1", "t2", "t3", "t4")).toEqual(["t1", "t4"]);
  });

  it("keeps all of them while the server may still name one", () => {
    const { turns, add, kept } = open();
    add("t1", { isClaimed: true });
    add("t2", { reply: "m2" });
    turns.trim({ current: undefined, mayBeAccepted: true });
    expect(kept("t1", "t2")).toEqual(["t1", "t2"]);
  });

  it("cuts the oldest turns when there are too many chunks, and takes no more of them", () => {
    const { turns, add } = open(5);
    const first = add("t1", { chunks: 3 });
    const second = add("t2", { chunks: 3 });
    expect(turns.isFull).toBe(true);
    turns.trim({ current: second, mayBeAccepted: false });
    expect([first, second].map(({ isCut, chunks }) => [isCut, chunks.length])).toEqual([
      [true, 0],
      [false, 3],
    ]);
    expect(turns.isFull).toBe(false);
    turns.addChunks(first, [chunk]);
    expect(first.chunks).toEqual([]);
  });

  it("cuts the current turn too if it alone is too long", () => {
    const { turns, add } = open(2);
    const turn = add("t1", { chunks: 3 });
    turns.trim({ current: turn, mayBeAccepted: false });
    expect(turn).toMatchObject({ isCut: true, chunks: [] });
  });
});
