import { describe, expect, it } from "vitest";
import type { HttpWire } from "./http-wire.ts";
import type { Step } from "./pieces-to-steps.ts";
import { playSteps } from "./play-steps.ts";
import { gate } from "./script.ts";

/** A wire that writes down what is done with it. */
function createWire(): { wire: HttpWire; written: unknown[] } {
  const written: unknown[] = [];
  const wire: HttpWire = {
    unlessGone: async (promise) => promise,
    send: async (data) => void written.push(["send", data]),
    end: async (data) => void written.push(data === undefined ? ["end"] : ["end", data]),
    fail: async (code, message) => void written.push(["fail", code, message]),
    drop: () => void written.push(["drop"]),
  };
  return { wire, written };
}

const send = (word: string): Step => ({ kind: "send", response: { word } });

describe("the steps of a response are played", () => {
  it("one event after the other, and then the end, when streamed", async () => {
    const { wire, written } = createWire();
    expect(await playSteps([send("a"), send("b")], wire, { stream: true, delayMs: 0 })).toBe("sent");
    expect(written).toEqual([["send", { word: "a" }], ["send", { word: "b" }], ["end"]]);
  });

  it("as one reply otherwise", async () => {
    const { wire, written } = createWire();
    expect(await playSteps([send("a")], wire, { stream: false, delayMs: 0 })).toBe("sent");
    expect(written).toEqual([["end", { word: "a" }]]);
  });

  it("no further than a wait that is not over", async () => {
    const { wire, written } = createWire();
    const { opened, open } = gate();
    const steps: Step[] = [send("a"), { kind: "wait", until: opened.then(() => written.push("over")) }, send("b")];
    const playing = playSteps(steps, wire, { stream: true, delayMs: 0 });
    open();
    await playing;
    expect(written).toEqual([["send", { word: "a" }], "over", ["send", { word: "b" }], ["end"]]);
  });

  it("up to a failure or a drop", async () => {
    const failed = createWire();
    const fail: Step = { kind: "fail", code: 500, message: "Broke." };
    expect(await playSteps([fail, send("never")], failed.wire, { stream: true, delayMs: 0 })).toBe("sent");
    expect(failed.written).toEqual([["fail", 500, "Broke."]]);
    const dropped = createWire();
    expect(await playSteps([{ kind: "drop" }, send("never")], dropped.wire, { stream: true, delayMs: 0 })).toBe(
      "dropped",
    );
    expect(dropped.written).toEqual([["drop"]]);
  });
});
