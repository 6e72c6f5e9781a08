import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ChatArrivals } from "./chat-arrivals.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Waits, and tells whether it is still waiting. */
function wait(arrivals: ChatArrivals, owner: string, chat: string) {
  const waiting = { calls: 0, stop: arrivals.wait(owner, chat, () => (waiting.calls += 1)) };
  return waiting;
}

test("wakes those that wait for the chat that was created, once, and no others", () => {
  const arrivals = new ChatArrivals();
  const [mine, other, foreign] = [wait(arrivals, "a", "1"), wait(arrivals, "a", "2"), wait(arrivals, "b", "1")];
  arrivals.announce("a", "1");
  arrivals.announce("a", "1");
  expect([mine.calls, other.calls, foreign.calls]).toEqual([1, 0, 0]);
});

test("wakes all after a second, and keeps no timer when none waits", () => {
  const arrivals = new ChatArrivals();
  const waiting = [wait(arrivals, "a", "1"), wait(arrivals, "a", "2")];
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(1000);
  expect(waiting.map(({ calls }) => calls)).toEqual([1, 1]);
  expect(vi.getTimerCount()).toBe(0);
});

test("one that is woken may wait again at once", () => {
  const arrivals = new ChatArrivals();
  let calls = 0;
  const again = () => {
    calls += 1;
    arrivals.wait("a", "1", again);
  };
  arrivals.wait("a", "1", again);
  vi.advanceTimersByTime(3000);
  expect(calls).toBe(3);
});

test("does not wake one that has stopped, also if another one stops it while both are woken", () => {
  const arrivals = new ChatArrivals();
  const gone = wait(arrivals, "a", "1");
  gone.stop();
  expect(vi.getTimerCount()).toBe(0);
  arrivals.wait("a", "1", () => later.stop());
  const later = wait(arrivals, "a", "1");
  arrivals.announce("a", "1");
  vi.advanceTimersByTime(1000);
  expect([gone.calls, later.calls]).toEqual([0, 0]);
  expect(vi.getTimerCount()).toBe(0);
});
