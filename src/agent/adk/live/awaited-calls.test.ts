import { createEvent } from "@google/adk";
import type { Part } from "@google/genai";
import { describe, expect, it } from "vitest";
import { withMetadata } from "../event-metadata.ts";
import { AwaitedCalls } from "./awaited-calls.ts";

const event = (...parts: Part[]) => createEvent({ author: "agent", content: { role: "model", parts } });
const call = (id: string): Part => ({ functionCall: { id, name: "pay", args: {} } });
const response = (id: string): Part => ({ functionResponse: { id, name: "pay", response: {} } });

function noted(...events: ReturnType<typeof event>[]): string[] {
  const calls = new AwaitedCalls();
  for (const each of events) calls.note(each);
  return [...calls.ids];
}

describe("the calls a live model waits for", () => {
  it("are those it made, until their responses come", () => {
    expect(noted(event(call("a"), call("b")), event(response("a")))).toEqual(["b"]);
  });

  it("are no longer those it cancelled", () => {
    const cancelled = createEvent(withMetadata({ notice: { cancelled: ["a"] } }));
    expect(noted(event(call("a"), call("b")), cancelled)).toEqual(["b"]);
  });

  it("are none after another agent has connected", () => {
    expect(noted(event(call("a")), createEvent(withMetadata({ notice: { connected: true } })))).toEqual([]);
  });

  it("end when we have sent their responses", () => {
    const calls = new AwaitedCalls();
    calls.note(event(call("a"), call("b")));
    calls.responded(["b", undefined]);
    expect([...calls.ids]).toEqual(["a"]);
  });
});
