import type { UIMessageChunk } from "ai";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Bridge, Logger } from "../../agent/index.ts";
import { sseResponse } from "./sse-response.ts";

/** Replies that are no turns need no bridge. */
const noBridge = undefined as unknown as Bridge;
const start: UIMessageChunk = { type: "start", messageId: "m" };
const finish: UIMessageChunk = { type: "finish" };

const errors: string[] = [];
const logger: Logger = { info: () => undefined, warn: () => undefined, error: (message) => void errors.push(message) };
const respond = (chunks: () => AsyncGenerator<UIMessageChunk>) =>
  sseResponse(noBridge, { chunks }, async (chunk) => [chunk], { logger });

describe("an event stream", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => {
    vi.useRealTimers();
    errors.length = 0;
  });

  test("ends with one [DONE]", async () => {
    const response = respond(async function* () {
      yield start;
      yield finish;
    });
    expect(await response.text()).toBe(
      `data: ${JSON.stringify(start)}\n\ndata: ${JSON.stringify(finish)}\n\ndata: [DONE]\n\n`,
    );
    expect(await respond(async function* () {}).text()).toBe("data: [DONE]\n\n");
  });

  test("fills silence with comments, for as long as it lasts", async () => {
    let speak = () => {};
    const spoken = new Promise<void>((resolve) => (speak = resolve));
    const response = respond(async function* () {
      yield start;
      await spoken;
      yield finish;
    });
    const text = response.text();
    await vi.advanceTimersByTimeAsync(14_999);
    await vi.advanceTimersByTimeAsync(30_002);
    speak();
    expect(await text).toBe(
      `data: ${JSON.stringify(start)}\n\n${": keep-alive\n\n".repeat(3)}data: ${JSON.stringify(finish)}\n\ndata: [DONE]\n\n`,
    );
    expect(vi.getTimerCount()).toBe(0);
  });

  test("says that it failed, and still ends with one [DONE]; the details are for the log", async () => {
    const response = respond(async function* () {
      yield start;
      throw new Error("secret table is gone");
    });
    const text = await response.text();
    expect(text).toMatch(
      /^data: {"type":"start".*\n\ndata: {"type":"error","errorText":"Something went wrong.*\n\ndata: \[DONE\]\n\n$/s,
    );
    expect(text).not.toContain("secret");
    expect(errors).toEqual(["Reading a turn failed."]);
  });

  test("that is no longer read lets go of its source", async () => {
    let left = false;
    const response = respond(async function* () {
      try {
        for (;;) yield start;
      } finally {
        left = true;
      }
    });
    const reader = response.body!.getReader();
    await reader.read();
    await reader.cancel();
    expect(left).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });
});
