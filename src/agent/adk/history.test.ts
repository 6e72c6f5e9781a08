import { createEvent, type Event } from "@google/adk";
import type { Part } from "@google/genai";
import { describe, expect, it } from "vitest";
import { awaitsModel, callsOf, hasMovedOn, keptOf, keptResults, lastText, openCalls, unknownCalls } from "./history.ts";
import { responseEvent } from "./new-events.ts";

const asked = (text: string): Event => createEvent({ author: "user", content: { role: "user", parts: [{ text }] } });
const said = (...parts: Part[]): Event =>
  createEvent({ author: "agent", branch: "left", invocationId: "run-1", content: { role: "model", parts } });
const call = (id: string | undefined, name = "pay"): Part => ({ functionCall: { id, name, args: {} } });
const response = (id: string, name = "pay"): Part => ({ functionResponse: { id, name, response: { ok: true } } });
const answered = (...parts: Part[]): Event => createEvent({ author: "agent", content: { role: "user", parts } });
const kept = (...parts: Part[]): Event => createEvent({ author: "agent", customMetadata: { kept: parts } });

describe("the calls of an event", () => {
  it("are the model's own: with an id and a name, and none of ADK's", () => {
    const event = said(
      call("c1"),
      { text: "and" },
      call("c2", "adk_request_confirmation"),
      call(undefined),
      call("c3", ""),
    );
    expect(callsOf(event).map(({ id }) => id)).toEqual(["c1"]);
    expect(callsOf(asked("pay"))).toEqual([]);
  });
});

describe("open calls", () => {
  it("are those without a response, in the order they were made", () => {
    const events = [
      asked("pay"),
      said(call("c1"), call("c2")),
      answered(response("c1")),
      said(call("c3"), call("c4")),
      answered(response("c4")),
    ];
    expect(openCalls(events).map(({ call: { id }, event }) => [id, event.id])).toEqual([
      ["c2", events[1]!.id],
      ["c3", events[3]!.id],
    ]);
  });

  it("stay open while their results are only kept", () => {
    expect(openCalls([said(call("c1")), kept(response("c1"))])).toHaveLength(1);
  });

  it("are none in a history without calls", () => {
    expect(openCalls([])).toEqual([]);
    expect(openCalls([asked("hello"), said({ text: "Hi." })])).toEqual([]);
  });
});

describe("results that are kept", () => {
  it("are found by the id of their call, over all steps", () => {
    const results = keptResults([kept(response("c1")), asked("hello"), kept(response("c2"), response("c3"))]);
    expect([...results]).toEqual([
      ["c1", { ok: true }],
      ["c2", { ok: true }],
      ["c3", { ok: true }],
    ]);
  });

  it("are none in an event that keeps nothing", () => {
    expect(keptOf(asked("hello"))).toEqual([]);
    expect(keptOf(kept())).toEqual([]);
  });

  it("survive being written as JSON", () => {
    const event = JSON.parse(JSON.stringify(kept(response("c1")))) as Event;
    expect(keptResults([event]).get("c1")).toEqual({ ok: true });
  });
});

describe("the response to a call", () => {
  const open = openCalls([said(call("c1"), call("c2"))])[1]!;

  it("is made where the call was, by whom it was", () => {
    const event = responseEvent({ open, response: { ok: true }, unknown: [] });
    expect(event).toMatchObject({
      author: "agent",
      branch: "left",
      invocationId: "run-1",
      content: { role: "user", parts: [{ functionResponse: { id: "c2", name: "pay", response: { ok: true } } }] },
      actions: { stateDelta: {} },
    });
    expect(event.customMetadata).toBeUndefined();
    expect(openCalls([open.event, event]).map(({ call: { id } }) => id)).toEqual(["c1"]);
  });

  it("carries the state the tool left", () => {
    expect(responseEvent({ open, response: {}, unknown: [], stateDelta: { word: "tea" } }).actions.stateDelta).toEqual({
      word: "tea",
    });
  });

  it("remembers the calls of which no more can be said yet", () => {
    const event = responseEvent({ open, response: {}, unknown: ["c2", "c9"] });
    expect([...unknownCalls([asked("hello"), JSON.parse(JSON.stringify(event)) as Event])]).toEqual(["c2", "c9"]);
  });
});

describe("what the agent said last", () => {
  it("is its last words, without its thoughts", () => {
    expect(
      lastText([
        asked("hello"),
        said({ text: "One." }),
        said({ text: "Hm.", thought: true }, { text: "Two" }, { text: "." }),
      ]),
    ).toBe("Two.");
  });

  it("is not what it said before its tools answered", () => {
    expect(lastText([asked("pay"), said({ text: "Let me pay." }), said(call("c1")), answered(response("c1"))])).toBe(
      "",
    );
    expect(
      lastText([said({ text: "Let me pay." }, call("c1")), answered(response("c1")), said({ text: "Paid." })]),
    ).toBe("Paid.");
  });

  it("is not what somebody else said, or nothing", () => {
    expect(lastText([said({ text: "Hello." }), asked("and now?")])).toBe("");
    expect(lastText([])).toBe("");
  });
});

describe("a history that awaits the model", () => {
  it.each([
    ["ends with the user's words", [asked("hello")], true],
    ["ends with a tool's answer", [asked("pay"), said(call("c1")), answered(response("c1"))], true],
    ["ends with the model's words", [asked("hello"), said({ text: "Hi." })], false],
    ["ends with a call", [asked("pay"), said(call("c1"))], false],
    ["ends with an answer that was kept", [asked("pay"), said(call("c1")), kept()], false],
    [
      "ends with a count behind the model's words",
      [asked("hello"), said({ text: "Hi." }), createEvent({ author: "agent" })],
      false,
    ],
    ["is empty", [], false],
  ])("%s: %#", (_, events, awaits) => {
    expect(awaitsModel(events)).toBe(awaits);
  });
});

describe("a history that has moved on from a step", () => {
  const pay = said(call("c1"), call("c2"));
  const picture: Part = { inlineData: { mimeType: "image/png", data: "AAAA" } };

  it.each([
    ["words", said({ text: "Wait." }), true],
    ["a picture", createEvent({ author: "user", content: { role: "user", parts: [picture] } }), true],
    ["another call", said(call("c3")), true],
    ["the response to another step", answered(response("c0")), true],
    ["a response to the step itself", answered(response("c1")), false],
    ["a result that is set aside", kept(response("c1")), false],
    ["a thought", said({ text: "Hm.", thought: true }), false],
    ["an empty text, which reaches no request", asked(""), false],
  ])("has %s after it: %#", (_, after, movedOn) => {
    expect(hasMovedOn([asked("pay"), pay, after], pay)).toBe(movedOn);
  });

  it("is judged by what comes after the step, not before it", () => {
    expect(hasMovedOn([asked("pay"), said({ text: "Fine." }), pay], pay)).toBe(false);
  });
});
