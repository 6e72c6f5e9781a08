import { afterEach, describe, expect, it, vi } from "vitest";
import type { Session } from "../../stores/index.ts";
import { ChatQueue } from "./chat-queue.ts";
import type { Turn } from "../turn-input.ts";

afterEach(() => void vi.useRealTimers());

const chat: Session = {
  id: "chat",
  chat: "chat",
  owner: "o",
  name: "n",
  appName: "a",
  state: {},
  revision: 0,
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

  it("X13: gives a turn that was stopped and hangs a while, and then begins the next one", async () => {
    vi.useFakeTimers();
    const begun: string[] = [];
    const queue = new ChatQueue(
      chat,
      ({ id }) => (begun.push(id), new Promise(() => {})),
      () => undefined,
    );
    queue.enqueue(turn("hangs"));
    const stopped = queue.stopAll(new Error("A new message came."));
    queue.enqueue(turn("next"));
    await vi.advanceTimersByTimeAsync(14_999);
    expect(begun).toEqual(["hangs"]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await stopped).toBe(true);
    expect(begun).toEqual(["hangs", "next"]);
  });

  it("X13: does not end a turn that only takes long", async () => {
    vi.useFakeTimers();
    const { queue, begun } = heldQueue();
    queue.enqueue(turn("slow"));
    queue.enqueue(turn("next"));
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(begun).toEqual(["slow"]);
  });

  it("X13: refuses a section that has waited too long for one that hangs, and never runs it later", async () => {
    vi.useFakeTimers();
    const { queue } = heldQueue();
    let end = () => {};
    const ran: string[] = [];
    const first = queue.exclusive(() => new Promise<void>((resolve) => (end = resolve)));
    const second = queue.exclusive(async () => void ran.push("second")).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await second).toMatchObject({ code: "unavailable" });
    const third = queue.exclusive(async () => void ran.push("third"));
    await vi.advanceTimersByTimeAsync(1000);
    expect(ran).toEqual([]);
    end();
    await first;
    await third;
    expect(ran).toEqual(["third"]);
  });
});
