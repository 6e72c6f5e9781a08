import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ChatArrivals } from "./chat-arrivals.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Waits, and tells whether it is still waiting. */
function wait(arrivals: ChatArrivals, owner: string, chat: string, signal = new AbortController().signal) {
  const waiting = { isOver: false };
  void arrivals.wait(owner, chat, signal).then(() => (waiting.isOver = true));
  return waiting;
}

test("wakes those that wait for the chat that was created, and no others", async () => {
  const arrivals = new ChatArrivals();
  const [mine, other, foreign] = [wait(arrivals, "a", "1"), wait(arrivals, "a", "2"), wait(arrivals, "b", "1")];
  arrivals.announce("a", "1");
  await vi.advanceTimersByTimeAsync(0);
  expect([mine.isOver, other.isOver, foreign.isOver]).toEqual([true, false, false]);
});

test("wakes all after a second, and keeps no timer when none waits", async () => {
  const arrivals = new ChatArrivals();
  const waiting = [wait(arrivals, "a", "1"), wait(arrivals, "a", "2")];
  expect(vi.getTimerCount()).toBe(1);
  await vi.advanceTimersByTimeAsync(1000);
  expect(waiting.map(({ isOver }) => isOver)).toEqual([true, true]);
  expect(vi.getTimerCount()).toBe(0);
});

test("wakes one whose signal aborts", async () => {
  const arrivals = new ChatArrivals();
  const leaving = new AbortController();
  const waiting = wait(arrivals, "a", "1", leaving.signal);
  leaving.abort();
  await vi.advanceTimersByTimeAsync(0);
  expect(waiting.isOver).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
  await arrivals.wait("a", "1", leaving.signal);
});
