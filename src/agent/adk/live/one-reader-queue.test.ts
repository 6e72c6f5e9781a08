import type { LiveRequest } from "@google/adk";
import { describe, expect, it } from "vitest";
import { OneReaderQueue } from "./one-reader-queue.ts";

const text = (value: string): LiveRequest => ({ content: { role: "user", parts: [{ text: value }] } });

describe("the input of a live run", () => {
  it("is read in the order it was sent, before or after it is asked for", async () => {
    const queue = new OneReaderQueue();
    queue.send(text("one"));
    queue.send(text("two"));
    expect(await queue.get()).toEqual(text("one"));
    expect(await queue.get()).toEqual(text("two"));
    const waiting = queue.get();
    queue.send(text("three"));
    expect(await waiting).toEqual(text("three"));
  });

  it("is the newest reader's; an older reader is told to close", async () => {
    const queue = new OneReaderQueue();
    const older = queue.get();
    const newer = queue.get();
    queue.send(text("one"));
    expect(await older).toEqual({ close: true });
    expect(await newer).toEqual(text("one"));
  });

  it("is not lost if its reader is dismissed just when it arrives", async () => {
    const queue = new OneReaderQueue();
    const older = queue.get();
    queue.send(text("one"));
    const newer = queue.get();
    expect(await older).toEqual({ close: true });
    expect(await newer).toEqual(text("one"));
  });

  it("ends for its reader when the reader gives up, or when it is closed", async () => {
    const queue = new OneReaderQueue();
    const controller = new AbortController();
    const waiting = queue.get(controller.signal);
    controller.abort();
    await expect(waiting).rejects.toThrow("aborted");
    queue.close();
    expect(await queue.get()).toEqual({ close: true });
  });
});
