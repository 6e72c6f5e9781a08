import { describe, expect, it } from "vitest";
import type { Session } from "../../stores/index.ts";
import { ChatQueue } from "./chat-queue.ts";
import type { Turn } from "../turn-input.ts";

const chat: Session = {
  id: "chat",
  chat: "chat",
  owner: "o",
  name: "n",
  appName: "a",
  state: {},
  createdAt: 0,
  updatedAt: 0,
};
const turn = (id: string, approvals: string[] = []) => ({
  id,
  reply: `reply-${id}`,
  after: 0,
  input: { kind: "settled", approvals, model: true } as const,
  mode: "request" as const,
  actor: "me",
});

/** A queue whose turns end when the test says so. */
function heldQueue() {
  const begun: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  let idle = 0;
  const run = ({ id, signal }: Turn) =>
    new Promise<void>((resolve, reject) => {
      begun.push(id);
      ends.set(id, (error) => (error ? reject(error) : resolve()));
      signal.addEventListener("abort", () => resolve());
      if (signal.aborted) resolve();
    });
  const queue = new ChatQueue(chat, run, () => (idle += 1));
  return { queue, begun, end: (id: string, error?: Error) => ends.get(id)?.(error), idle: () => idle };
}

describe("ChatQueue", () => {
  it("runs one turn at a time, in order, also after one that failed", async () => {
    const { queue, begun, end } = heldQueue();
    const [one, two] = [queue.enqueue(turn("one")), queue.enqueue(turn("two"))];
    await Promise.resolve();
    expect(begun).toEqual(["one"]);
    expect(queue.running).toBe(one);
    end("one", new Error("failed"));
    await expect(one.done).rejects.toThrow("failed");
    await new Promise((resolve) => setImmediate(resolve));
    expect(begun).toEqual(["one", "two"]);
    expect(queue.running).toBe(two);
    end("two");
    await two.done;
    expect(queue.running).toBeUndefined();
  });

  it("finds a turn by what it settles until it is over", async () => {
    const { queue, end } = heldQueue();
    const queued = queue.enqueue(turn("one", ["apr-1"]));
    expect(queue.find(({ covers }) => covers.has("apr-1"))).toBe(queued);
    expect(queue.find(({ covers }) => covers.has("apr-2"))).toBeUndefined();
    await Promise.resolve();
    end("one");
    await queued.done;
    expect(queue.find(() => true)).toBeUndefined();
  });

  it("stops what runs and what waits, and says whether there was anything", async () => {
    const { queue, begun } = heldQueue();
    expect(await queue.stopAll(new Error("stop"))).toBe(false);
    queue.enqueue(turn("one"));
    queue.enqueue(turn("two"));
    expect(await queue.stopAll(new Error("stop"))).toBe(true);
    expect(begun).toEqual(["one", "two"]);
    expect(queue.running).toBeUndefined();
  });

  it("runs sections one after the other, also after one that failed", async () => {
    const { queue } = heldQueue();
    const order: string[] = [];
    const failing = queue.exclusive(async () => {
      await Promise.resolve();
      order.push("first");
      throw new Error("no");
    });
    const second = queue.exclusive(async () => void order.push("second"));
    await expect(failing).rejects.toThrow("no");
    await second;
    expect(order).toEqual(["first", "second"]);
  });

  it("is idle when no turn and no section is left", async () => {
    const { queue, end, idle } = heldQueue();
    let queued: ReturnType<typeof queue.enqueue> | undefined;
    await queue.exclusive(async () => {
      queued = queue.enqueue(turn("one"));
    });
    expect(idle()).toBe(0);
    end("one");
    await queued!.done;
    expect(idle()).toBe(1);
  });
});
