import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  isOver,
  nextReplyState,
  patienceMs,
  type ReplyEvent,
  replyEvents,
  type ReplyState,
  replyStates,
  replyTable,
  type ReplyVerdict,
} from "./reply-state.ts";

type Cell = ReplyState | ReplyVerdict;

/** The whole table once more, so that a changed cell fails here. */
const expected: Record<ReplyEvent, Record<ReplyState, Cell>> = {
  text: row("speaking", "speaking", "speaking", "interrupted", "speaking", "complete", "complete"),
  calls: row("tools", "tools", "tools", "tools", "tools", "complete-tools", "complete-tools"),
  results: row("silent", "silent", "silent", "interrupted", "silent", "complete", "complete"),
  completed: row("complete", "complete", "complete", "complete", "complete", "complete", "complete"),
  interrupted: row("interrupted", "interrupted", "interrupted", "interrupted", "interrupted", "complete", "complete"),
  end: row("done", "done", "done", "trailing", "done", "done", "done"),
  "end-waiting": row("silent", "done", "silent", "trailing", "trailing", "complete", "complete"),
  "end-responded": row("trailing", "trailing", "trailing", "trailing", "trailing", "complete", "complete"),
  another: row("silent", "silent", "silent", "silent", "silent", "silent", "silent"),
  silence: row("too-silent", "too-silent", "tools", "too-silent", "done", "done", "complete-tools"),
  gone: row("disconnected", "disconnected", "disconnected", "disconnected", "disconnected", "done", "done"),
};

function row(
  ...[silent, speaking, tools, interrupted, trailing, complete, completeTools]: [
    ...[Cell, Cell, Cell, Cell, Cell, Cell, Cell],
  ]
): Record<ReplyState, Cell> {
  return { silent, speaking, tools, interrupted, trailing, complete, "complete-tools": completeTools };
}

describe("the table of a live reply", () => {
  const cells = replyStates.flatMap((state) =>
    replyEvents.map((event) => [state, event, expected[event][state]] as const),
  );
  it.each(cells)("%s × %s: %s", (state, event, cell) => {
    expect(nextReplyState(state, event)).toBe(cell);
  });

  it("has a cell for every state and event, and no others", () => {
    expect(Object.keys(replyTable)).toEqual([...replyStates]);
    for (const cellsOfState of Object.values(replyTable)) expect(Object.keys(cellsOfState)).toEqual([...replyEvents]);
  });
});

/** Where these events lead; events after the end of the turn are not looked at. */
function after(...events: ReplyEvent[]): Cell {
  return events.reduce<Cell>((state, event) => (isOver(state) ? state : nextReplyState(state, event)), "silent");
}

const isComplete = (state: ReplyState) => state === "complete" || state === "complete-tools";

describe("a live reply", () => {
  it("L1: is over at the end of the model's turn, once the model has spoken or had nothing to wait for", () => {
    expect(after("text", "end")).toBe("done");
    expect(after("end")).toBe("done");
    expect(after("text", "end-waiting")).toBe("done");
  });

  it("L2: goes on after a turn that only called, until the results have been spoken about", () => {
    expect(after("calls", "end-waiting")).toBe("silent");
    expect(after("calls", "end-waiting", "results", "text", "end")).toBe("done");
    expect(after("calls", "results", "text")).toBe("speaking");
  });

  it("L3: may go on after the end that follows an interruption, or not", () => {
    expect(after("text", "interrupted", "end")).toBe("trailing");
    expect(after("text", "interrupted", "text")).toBe("interrupted");
    expect(after("text", "interrupted", "end", "text", "end")).toBe("done");
    expect(after("text", "interrupted", "end", "silence")).toBe("done");
  });

  it("L4: may go on if calls were answered before their turn ended", () => {
    expect(after("calls", "results", "end-responded")).toBe("trailing");
    expect(after("calls", "results", "end-responded", "text", "end")).toBe("done");
    expect(after("calls", "results", "end-responded", "end")).toBe("done");
  });

  it("L5: fails by silence, except while tools run and when it may be over", () => {
    expect(after("silence")).toBe("too-silent");
    expect(after("text", "silence")).toBe("too-silent");
    expect(after("text", "interrupted", "silence")).toBe("too-silent");
    expect(after("calls", "silence")).toBe("tools");
    expect(after("end-responded", "silence")).toBe("done");
    expect(after("completed", "silence")).toBe("done");
  });

  it("L5: has no limit while tools run, and a short one when it may be over", () => {
    expect(patienceMs("tools", 30_000)).toBeUndefined();
    expect(patienceMs("complete-tools", 30_000)).toBeUndefined();
    expect(patienceMs("trailing", 30_000)).toBe(5000);
    expect(patienceMs("trailing", 1000)).toBe(1000);
    for (const state of ["silent", "speaking", "interrupted", "complete"] as const)
      expect(patienceMs(state, 30_000)).toBe(30_000);
  });

  it("L6: is over when the run ends after the agent has said so; otherwise it is lost", () => {
    expect(after("completed", "gone")).toBe("done");
    expect(after("completed", "calls", "results", "text", "gone")).toBe("done");
    for (const state of replyStates) if (!isComplete(state)) expect(nextReplyState(state, "gone")).toBe("disconnected");
  });

  it("L7: starts again when another agent takes over", () => {
    for (const state of replyStates) expect(nextReplyState(state, "another")).toBe("silent");
  });
});

describe("on every walk of a live reply", () => {
  const walk = fc.array(fc.constantFrom(...replyEvents), { maxLength: 30 });

  it("the end of the run ends the turn, and well only after `completed`", () => {
    fc.assert(
      fc.property(walk, (events) => {
        const state = after(...events);
        if (isOver(state)) return;
        const end = nextReplyState(state, "gone");
        expect(end).toBe(isComplete(state) ? "done" : "disconnected");
        if (end === "done") expect(events).toContain("completed");
      }),
    );
  });

  it("silence fails only where the model should speak, and never changes a state that goes on", () => {
    fc.assert(
      fc.property(walk, (events) => {
        const state = after(...events);
        if (isOver(state)) return;
        const next = nextReplyState(state, "silence");
        if (state === "trailing" || state === "complete") expect(next).toBe("done");
        if (!isOver(next)) expect([next, patienceMs(next, 30_000)]).toEqual([state, undefined]);
      }),
    );
  });

  it("a reply that is done has heard the end of the model's turn, or that the agent's part is done", () => {
    const ends = new Set<ReplyEvent>(["end", "end-waiting", "end-responded", "completed"]);
    fc.assert(
      fc.property(walk, (events) => {
        if (after(...events) === "done") expect(events.some((event) => ends.has(event))).toBe(true);
      }),
    );
  });

  it("two ends of the model's turn in a row end a reply that waits for no call", () => {
    fc.assert(
      fc.property(walk, (events) => {
        expect(isOver(after(...events, "end", "end"))).toBe(true);
      }),
    );
  });
});
