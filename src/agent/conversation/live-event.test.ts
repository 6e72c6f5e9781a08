import { createEvent, createEventActions, type Event } from "@google/adk";
import type { Part } from "@google/genai";
import { describe, expect, it } from "vitest";
import type { EventMetadata } from "../adk/event-metadata.ts";
import { toReplyEvent } from "./live-event.ts";
import { nextReplyState } from "./reply-state.ts";

const said = (...parts: Part[]): Event => createEvent({ author: "agent", content: { role: "model", parts } });
const call: Part = { functionCall: { id: "c1", name: "pay" } };
const response = (name: string): Part => ({ functionResponse: { id: "c1", name, response: {} } });
const ended = (owed?: string[]): Event =>
  createEvent({ author: "agent", turnComplete: true, ...(owed && { customMetadata: { owed } }) });
const notice = (metadata: EventMetadata["notice"]): Event => createEvent({ customMetadata: { notice: metadata } });
const escalated = (...parts: Part[]): Event =>
  createEvent({ content: { role: "user", parts }, actions: createEventActions({ escalate: true }) });

describe("what an ADK event means for a live reply", () => {
  it.each([
    ["text", said({ text: "Hello." }), "text"],
    ["a call, also with text before it", said({ text: "One moment." }, call), "calls"],
    ["the results of tools", said(response("pay")), "results"],
    ["the tool by which an agent says that its part is done", said(response("task_completed")), "completed"],
    ["an agent that ends its loop", escalated(response("exit_loop")), "completed"],
    ["an interruption", createEvent({ interrupted: true }), "interrupted"],
    ["another agent that has connected", notice({ connected: true }), "another"],
  ] as const)("%s", (_, event, kind) => {
    expect(toReplyEvent(event, new Set(["c1"]))).toBe(kind);
  });

  it.each([
    ["calls that the model cancelled", notice({ cancelled: ["c1"] })],
    ["a server that will close", notice({ goAway: true })],
    ["a thought", said({ text: "Hm.", thought: true })],
    ["usage alone", createEvent({ usageMetadata: { totalTokenCount: 5 } })],
    ["a call of ADK's own", said({ functionCall: { id: "c1", name: "adk_request_confirmation" } })],
  ])("%s means nothing", (_, event) => {
    expect(toReplyEvent(event, new Set())).toBeUndefined();
  });

  it("the end of the model's turn depends on the calls that had no response then", () => {
    expect(toReplyEvent(ended(), new Set(["c1"]))).toBe("end");
    expect(toReplyEvent(ended(["c1"]), new Set(["c1"]))).toBe("end-waiting");
    expect(toReplyEvent(ended(["c1"]), new Set())).toBe("end-responded");
    expect(toReplyEvent(ended(["c1", "c2"]), new Set(["c1"]))).toBe("end-responded");
  });

  it("an interruption and the end of its turn in one event: no other end follows, and more may be said", () => {
    const event = toReplyEvent(createEvent({ interrupted: true, turnComplete: true }), new Set());
    expect(event && nextReplyState("speaking", event)).toBe("trailing");
  });
});
