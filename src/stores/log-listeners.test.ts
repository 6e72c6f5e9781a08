import { describe, expect, test, vi } from "vitest";
import { logListeners } from "./log-listeners.ts";
import type { LogEntry } from "./store.ts";

const entry = (sequence: number): LogEntry => ({ turn: "turn", kind: "end", sequence, at: 0 });

describe("logListeners", () => {
  test("tells each listener of a chat, and no listener of another chat", () => {
    const listeners = logListeners();
    const [first, second, other] = [vi.fn(), vi.fn(), vi.fn()];
    listeners.watch("chat", first);
    listeners.watch("chat", second);
    listeners.watch("other", other);
    listeners.notify("chat", { entries: [entry(1)] });
    expect(first.mock.calls).toEqual([[{ entries: [entry(1)] }]]);
    expect(second.mock.calls).toEqual([[{ entries: [entry(1)] }]]);
    expect(other).not.toHaveBeenCalled();
  });

  test("the same function watching twice is called twice, and each watch stops by itself", () => {
    const listeners = logListeners();
    const listener = vi.fn();
    const stop = listeners.watch("chat", listener);
    listeners.watch("chat", listener);
    listeners.notify("chat", { entries: [entry(1)] });
    expect(listener).toHaveBeenCalledTimes(2);
    stop();
    stop();
    listeners.notify("chat", { entries: [entry(2)] });
    expect(listener).toHaveBeenCalledTimes(3);
  });

  test("a stop that comes late does not stop a listener that came since", () => {
    const listeners = logListeners();
    const stop = listeners.watch("chat", vi.fn());
    stop();
    const later = vi.fn();
    listeners.watch("chat", later);
    stop();
    listeners.notify("chat", { entries: [entry(1)] });
    expect(later).toHaveBeenCalledOnce();
  });

  test("every listener gets the entries in order, also when one of them causes more", () => {
    const listeners = logListeners();
    const heard: number[] = [];
    listeners.watch("chat", ({ entries: [first] = [] }) => {
      if (first?.sequence === 1) listeners.notify("chat", { entries: [entry(2)] });
    });
    listeners.watch("chat", ({ entries = [] }) => heard.push(...entries.map(({ sequence }) => sequence)));
    listeners.notify("chat", { entries: [entry(1)] });
    expect(heard).toEqual([1, 2]);
  });

  test("a listener that throws does not keep the entries from the others, now or later", () => {
    const listeners = logListeners();
    const good = vi.fn();
    listeners.watch("chat", () => {
      throw new Error("broken");
    });
    listeners.watch("chat", good);
    listeners.notify("chat", { entries: [entry(1)] });
    listeners.notify("chat", { entries: [entry(2)] });
    expect(good).toHaveBeenCalledTimes(2);
  });

  test("a listener that another one stops in the same round is not called", () => {
    const listeners = logListeners();
    const second = vi.fn();
    let stopSecond = () => {};
    listeners.watch("chat", () => stopSecond());
    stopSecond = listeners.watch("chat", second);
    listeners.notify("chat", { entries: [entry(1)] });
    expect(second).not.toHaveBeenCalled();
  });

  test("clear stops all of them", () => {
    const listeners = logListeners();
    const listener = vi.fn();
    listeners.watch("chat", listener);
    listeners.clear();
    listeners.notify("chat", { entries: [entry(1)] });
    expect(listener).not.toHaveBeenCalled();
  });
});
