import type { UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import { metadataOf } from "./event-metadata.ts";
import { emptyEvent, messageEvent, noteEvent, storesMessage } from "./new-events.ts";

// `responseEvent` is tested in history.test.ts, together with the questions that find it again.

const message = (text: string, id = "m1"): UIMessage => ({ id, role: "user", parts: [{ type: "text", text }] });

describe("a note to the model", () => {
  it("is in the place of a user's message, with the id it is given", () => {
    expect(noteEvent("late-apr_1", "It ended.")).toMatchObject({
      id: "late-apr_1",
      author: "user",
      content: { role: "user", parts: [{ text: "It ended." }] },
    });
  });
});

describe("an empty event", () => {
  it("is the user's and says nothing", () => {
    expect(emptyEvent()).toMatchObject({ author: "user" });
    expect(emptyEvent().content).toBeUndefined();
  });
});

describe("a user's message in the history", () => {
  it("is found again by its id and its content", () => {
    const event = messageEvent(message("Pay."));
    expect(event).toMatchObject({ author: "user", content: { role: "user", parts: [{ text: "Pay." }] } });
    expect(metadataOf(event)).toEqual({ message: "m1" });
    expect(storesMessage(event, message("Pay."))).toBe(true);
  });

  it("is another one after the user has changed it, and under another id", () => {
    const event = messageEvent(message("Pay."));
    expect(storesMessage(event, message("Pay twice."))).toBe(false);
    expect(storesMessage(event, message("Pay.", "m2"))).toBe(false);
  });

  it("is not a note with the same text", () => {
    expect(storesMessage(noteEvent("m1", "Pay."), message("Pay."))).toBe(false);
  });
});
