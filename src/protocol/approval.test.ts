import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type ApprovalEvent,
  approvalEvents,
  type ApprovalState,
  approvalStates,
  isSettled,
  transition,
  transitions,
} from "./approval.ts";

/**
 * What must happen in every cell, written from the rules and not from the code: a capitalised word is the next state, a
 * small one the refusal.
 */
const expected = `
                approve    deny      expire    cancel      claim       reclaim     begin       succeed     fail       lose
pending         APPROVED   DENIED    EXPIRED   CANCELLED   undecided   undecided   undecided   undecided   undecided  undecided
approved        decided    decided   EXPIRED   CANCELLED   EXECUTING   decided     WAITING     decided     decided    decided
executing       running    running   running   running     running     EXECUTING   WAITING     SUCCEEDED   FAILED     INDETERMINATE
waiting         running    running   running   running     running     running     running     SUCCEEDED   FAILED     INDETERMINATE
indeterminate   over       over      over      over        over        over        over        SUCCEEDED   FAILED     over
succeeded       over       over      over      over        over        over        over        over        over       over
failed          over       over      over      over        over        over        over        over        over       over
denied          over       over      over      over        over        over        over        over        over       over
expired         over       over      over      over        over        over        over        over        over       over
cancelled       over       over      over      over        over        over        over        over        over       over
`;

const [header = [], ...rows] = expected
  .trim()
  .split("\n")
  .map((line) => line.trim().split(/\s+/));
const cells = rows.flatMap(([state, ...words]) =>
  words.map((word, column) => ({ state: state as ApprovalState, event: header[column] as ApprovalEvent, word })),
);

const states = fc.constantFrom(...approvalStates);
const walk = fc.array(fc.constantFrom(...approvalEvents), { maxLength: 40 });
const terminal: ApprovalState[] = ["succeeded", "failed", "denied", "expired", "cancelled"];

/** The states a row passes through, the first one included; refused events leave it where it is. */
function follow(from: ApprovalState, events: readonly ApprovalEvent[]): ApprovalState[] {
  const path = [from];
  for (const event of events) {
    const cell = transition(path.at(-1) as ApprovalState, event);
    if ("to" in cell) path.push(cell.to);
  }
  return path;
}

describe("the approval's state machine", () => {
  test("has an expectation for every state and every event", () => {
    expect(new Set(rows.map(([state]) => state))).toEqual(new Set(approvalStates));
    expect(new Set(header)).toEqual(new Set(approvalEvents));
    expect(cells).toHaveLength(approvalStates.length * approvalEvents.length);
  });

  test.each(cells)("$state × $event is $word", ({ state, event, word }) => {
    const to = word === word.toUpperCase();
    expect(transition(state, event)).toEqual(to ? { to: word.toLowerCase() } : { refused: word });
  });

  test("has no cell beyond the table", () => {
    expect(new Set(Object.keys(transitions))).toEqual(new Set(approvalStates));
    for (const row of Object.values(transitions)) expect(new Set(Object.keys(row))).toEqual(new Set(approvalEvents));
  });

  test("I1: no walk leaves a terminal state", () => {
    fc.assert(
      fc.property(fc.constantFrom(...terminal), walk, (state, events) => {
        expect(follow(state, events)).toEqual([state]);
      }),
    );
  });

  test("I2: a row is decided at most once on any walk", () => {
    fc.assert(
      fc.property(walk, (events) => {
        const path = follow("pending", events);
        expect(path.filter((state) => state === "approved" || state === "denied").length).toBeLessThanOrEqual(1);
      }),
    );
  });

  test("I3, I4: a row executes only straight after an approval or a lost lease of its own", () => {
    fc.assert(
      fc.property(walk, (events) => {
        const path = follow("pending", events);
        for (const [index, state] of path.entries()) {
          if (state === "executing") expect(["approved", "executing"]).toContain(path[index - 1]);
        }
        if (path.includes("executing")) expect(path).toContain("approved");
      }),
    );
  });

  test("I9: from every state a terminal one can be reached", () => {
    for (const start of approvalStates) {
      const reached = new Set<ApprovalState>([start]);
      for (const state of reached) {
        for (const event of approvalEvents) {
          const cell = transition(state, event);
          if ("to" in cell) reached.add(cell.to);
        }
      }
      expect(terminal.some((state) => reached.has(state))).toBe(true);
    }
  });

  test("only reclaiming stays in its state, and only while executing", () => {
    fc.assert(
      fc.property(states, fc.constantFrom(...approvalEvents), (state, event) => {
        const cell = transition(state, event);
        if ("to" in cell && cell.to === state) expect([state, event]).toEqual(["executing", "reclaim"]);
      }),
    );
  });

  test("a settled row never becomes unsettled", () => {
    fc.assert(
      fc.property(states, walk, (state, events) => {
        const settled = follow(state, events).map(isSettled);
        expect(settled).toEqual(settled.toSorted((a, b) => Number(a) - Number(b)));
      }),
    );
  });

  test.each([
    ["pending", false],
    ["approved", false],
    ["executing", false],
    ["indeterminate", true],
    ["succeeded", true],
    ["failed", true],
    ["denied", true],
    ["expired", true],
    ["cancelled", true],
  ] as const)("%s is settled: %s", (state, settled) => {
    expect(isSettled(state)).toBe(settled);
  });
});

test("a state of a later release is not settled, and nothing moves it", () => {
  const later = "paused" as ApprovalState;
  expect(isSettled(later)).toBe(false);
  for (const event of approvalEvents) expect(transition(later, event)).toEqual({ refused: "running" });
});
