import { describe, expect, it } from "vitest";
import { encodeSseEvent, sseComment, sseDone } from "../protocol/sse.ts";
import { parseServerFrame } from "./server-frame.ts";

describe("parseServerFrame", () => {
  it("reads a chunk with its number, as the server writes it", () => {
    const chunk = { type: "text-delta", id: "t", delta: "line\r\nline: data: \u2028[DONE]" };
    expect(parseServerFrame(encodeSseEvent(chunk, 12))).toEqual({ type: "chunk", chunk, sequence: 12 });
    expect(parseServerFrame(encodeSseEvent(chunk))).toEqual({ type: "chunk", chunk, sequence: undefined });
  });

  it("gives no number to a chunk whose id is none", () => {
    for (const id of ["", "abc", "-1", "1.5", "1234567890123456"])
      expect(parseServerFrame(`id: ${id}\ndata: {"type":"start"}\n\n`)).toMatchObject({
        type: "chunk",
        sequence: undefined,
      });
  });

  it("reads the end of a turn", () => {
    expect(parseServerFrame(sseDone)).toEqual({ type: "done" });
  });

  it.each([
    { type: "turn", turn: "t1", reply: "m1", sequence: 3 },
    { type: "parked", turn: "t1", sequence: 9 },
    { type: "withdrawn", from: "u1", sequence: 9 },
    { type: "accepted", requestId: "r1", turn: "t1" },
    { type: "refused", requestId: "r1", code: "invalid", message: "No." },
    { type: "attached", id: "c1", sequence: 4, running: true },
    { type: "pong", timestamp: 7 },
  ])("reads $type", (frame) => {
    expect(parseServerFrame(JSON.stringify(frame))).toEqual(frame);
  });

  it("passes over what a newer server may say", () => {
    expect(parseServerFrame(JSON.stringify({ type: "weather" }))).toBeUndefined();
    expect(parseServerFrame(sseComment("keep-alive"))).toBeUndefined();
    expect(parseServerFrame("event: later\nid: 4\n\n")).toBeUndefined();
  });

  it.each(["{", "data: {", "data: 3\n\n", "data: {}\n\n", '{"type":"accepted","requestId":"r1"}', "\u0000", "<html>"])(
    "throws for %j, which is no frame",
    (text) => {
      expect(() => parseServerFrame(text)).toThrow(/JSON|chunk|lacks/);
    },
  );
});
