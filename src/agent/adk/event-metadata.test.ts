import { createEvent } from "@google/adk";
import { describe, expect, it } from "vitest";
import { addMetadata, hasHeldCall, metadataOf, withMetadata } from "./event-metadata.ts";

describe("what is attached to an event", () => {
  it("is empty when nothing is attached", () => {
    expect(metadataOf(createEvent())).toEqual({});
  });

  it("is read back as it was attached", () => {
    expect(metadataOf(createEvent(withMetadata({ message: "m1" })))).toEqual({ message: "m1" });
  });

  it("is added to what others have attached", () => {
    const event = createEvent({ customMetadata: { theirs: 1, unknown: ["c1"] } });
    addMetadata(event, { unknown: ["c2"] });
    expect(event.customMetadata).toEqual({ theirs: 1, unknown: ["c2"] });
  });
});

describe("a call was held in a step", () => {
  it("if results were set aside, also when there were none", () => {
    expect(hasHeldCall(createEvent(withMetadata({ kept: [] })))).toBe(true);
    expect(hasHeldCall(createEvent(withMetadata({ unknown: [] })))).toBe(false);
  });
});
