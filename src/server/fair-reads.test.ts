import { describe, expect, it } from "vitest";
import { aside } from "../agent/support/index.ts";
import { FairReads } from "./fair-reads.ts";

const limits = { reads: 2, readsPerOwner: 1, waitingReads: 6, waitingReadsPerOwner: 3 };

/** Reads that end when they are told to, and the order in which they began. */
function open(options = limits) {
  const reads = new FairReads(options);
  const began: string[] = [];
  const ends = new Map<string, () => void>();
  const start = (owner: string, name: string) =>
    reads.run(owner, async () => {
      began.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
      return name;
    });
  const end = async (name: string) => {
    ends.get(name)?.();
    await new Promise((resolve) => setTimeout(resolve));
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { reads, began, start, end };
}

describe("fair reads", () => {
  it("let the reads of one owner wait for each other, and those of others begin", async () => {
    const { began, start, end } = open();
    void start("alice", "a1");
    void start("alice", "a2");
    void start("alice", "a3");
    void start("bob", "b1");
    expect(began).toEqual(["a1", "b1"]);
    await end("a1");
    expect(began).toEqual(["a1", "b1", "a2"]);
  });

  it("let owners take turns, however many reads each of them waits for", async () => {
    const { began, start, end } = open({ ...limits, reads: 1 });
    for (const name of ["a1", "a2", "a3"]) void start("alice", name);
    for (const name of ["b1", "b2"]) void start("bob", name);
    void start("carol", "c1");
    for (const name of ["a1", "a2", "b1", "c1", "a3"]) await end(name);
    expect(began).toEqual(["a1", "a2", "b1", "c1", "a3", "b2"]);
  });

  it("refuse an owner who waits for too many, and everyone when too many wait", async () => {
    const { start } = open({ ...limits, reads: 1 });
    for (const name of ["a1", "a2", "a3", "a4"]) void start("alice", name);
    await expect(start("alice", "a5")).rejects.toMatchObject({ code: "too_many", retryAfter: 1 });
    for (const name of ["b1", "b2", "b3"]) void start("bob", name);
    await expect(start("carol", "c1")).rejects.toMatchObject({ code: "unavailable" });
  });

  it("let others read while one waits for something else, and then wait for their turn again", async () => {
    const { reads, began, start, end } = open({ ...limits, reads: 1 });
    let arrive = () => {};
    const arrived = new Promise<void>((resolve) => (arrive = resolve));
    const waiting = reads.run("alice", async () => {
      began.push("a1");
      await aside(() => arrived);
      began.push("a1 again");
    });
    void start("bob", "b1");
    await end("");
    expect(began).toEqual(["a1", "b1"]);
    arrive();
    await end("");
    expect(began).toEqual(["a1", "b1"]);
    await end("b1");
    await waiting;
    expect(began).toEqual(["a1", "b1", "a1 again"]);
    // Its slot is free.
    void start("carol", "c1");
    await end("");
    expect(began.at(-1)).toBe("c1");
  });

  it("refuse no read that was let in, however many wait when it has stood aside", async () => {
    const { reads, start, end } = open({ ...limits, reads: 1, waitingReads: 1 });
    let arrive = () => {};
    const arrived = new Promise<void>((resolve) => (arrive = resolve));
    const waiting = reads.run("alice", () => aside(() => arrived.then(() => "done")));
    void start("bob", "b1");
    await end("");
    void start("bob", "b2");
    await expect(start("carol", "c1")).rejects.toMatchObject({ code: "unavailable" });
    arrive();
    for (const name of ["", "b1", "b2"]) await end(name);
    expect(await waiting).toBe("done");
  });

  it("give the slot of a read that fails to the next one", async () => {
    const { reads, began, start } = open({ ...limits, reads: 1 });
    const failing = reads.run("alice", () => Promise.reject(new Error("broken")));
    void start("bob", "b1");
    await expect(failing).rejects.toThrow("broken");
    await new Promise((resolve) => setTimeout(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    expect(began).toEqual(["b1"]);
  });

  it("return what each read returns", async () => {
    const { reads } = open();
    expect(await Promise.all([1, 2, 3].map((each) => reads.run("alice", async () => each)))).toEqual([1, 2, 3]);
  });
});
