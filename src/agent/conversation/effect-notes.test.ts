import type { Approval } from "../../stores/index.ts";
import { describe, expect, it } from "vitest";
import { metadataOf } from "../adk/event-metadata.ts";
import { effectNotes } from "./effect-notes.ts";

const row = (id: string, fields: Partial<Approval>): Approval =>
  ({
    ...{ id: `apr-${id}`, session: "chat", toolCallId: id, toolName: "pay", input: '{"amount":5}', effect: "opaque" },
    ...{ gated: true, external: false, outcome: { paid: 5 }, ...fields },
  }) as Approval;
const call = (id: string, name = "pay") => ({ id, name, args: { amount: 5 } });
const context = {
  store: { events: async () => [] },
  effectOf: (name: string) => (name === "read" ? ("readonly" as const) : ("opaque" as const)),
};
const notes = async (rows: Approval[], removed: Parameters<typeof effectNotes>[0]) =>
  (await effectNotes(removed, rows, "chat", context)).map((event) => ({
    text: event.content?.parts?.[0]?.text ?? "",
    unknown: metadataOf(event).unknown ?? [],
  }));

describe("a note of what was withdrawn", () => {
  it("says the call, its arguments and its outcome", async () => {
    expect(await notes([row("c1", { state: "succeeded" })], [{ call: call("c1") }])).toEqual([
      {
        text: '[context, not from the user] The earlier call pay({"amount":5}) ended as succeeded: {"paid":5}',
        unknown: [],
      },
    ]);
  });

  it.each(["denied", "expired", "cancelled"] as const)("is not made for a call that is %s", async (state) => {
    expect(await notes([row("c1", { state })], [{ call: call("c1") }])).toEqual([]);
  });

  it("is not made for what only reads, nor for a handover", async () => {
    const rows = [row("c1", { state: "succeeded", effect: "readonly" })];
    const removed = [
      { call: call("c1") },
      { call: call("c2", "read"), response: {} },
      { call: call("c3", "transfer_to_agent"), response: {} },
    ];
    expect(await notes(rows, removed)).toEqual([]);
  });

  it("promises the outcome of a call that runs", async () => {
    const [note] = await notes([row("c1", { state: "executing" })], [{ call: call("c1") }]);
    expect(note).toMatchObject({ text: expect.stringContaining("has not ended yet"), unknown: ["c1"] });
  });

  it("says that a free call was interrupted", async () => {
    const [note] = await notes([], [{ call: call("c1") }]);
    expect(note?.text).toContain("ended as interrupted");
  });

  it("is short, however long the outcome is", async () => {
    const rows = [row("c1", { state: "succeeded", outcome: { text: "x".repeat(100_000) }, input: "y".repeat(60_000) })];
    const [note] = await notes(rows, [{ call: call("c1") }]);
    expect(note?.text.length).toBeLessThan(5000);
  });

  it("counts the calls after the first ones, and promises the outcomes of those that run", async () => {
    const ids = Array.from({ length: 1500 }, (_, index) => `c${index}`);
    const rows = ids.map((id, index) => row(id, { state: index === 1499 ? "waiting" : "succeeded" }));
    const made = await notes(
      rows,
      ids.map((id) => ({ call: call(id) })),
    );
    expect(made).toHaveLength(33);
    expect(made.at(-1)).toMatchObject({
      text: expect.stringContaining("1467 × pay (succeeded), 1 × pay (waiting)"),
      unknown: ["c1499"],
    });
  });
});
