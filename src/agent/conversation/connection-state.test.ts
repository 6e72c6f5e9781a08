import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type ConnectionEvent,
  connectionEvents,
  type ConnectionState,
  connectionStates,
  connectionTable,
  isListening,
  nextConnectionState,
} from "./connection-state.ts";

type Cell = ConnectionState | "ignored" | "refused";

/** The whole table once more, so that a changed cell fails here. */
const expected: Record<ConnectionEvent, Record<ConnectionState, Cell>> = {
  connected: row("idle", "ignored", "ignored", "ignored", "ignored", "ignored"),
  enter: row("refused", "listening", "listening", "refused", "refused", "refused"),
  leave: row("ignored", "ignored", "ignored", "idle", "closed", "ignored"),
  speech: row("ignored", "spoken", "ignored", "ignored", "ignored", "ignored"),
  another: row("ignored", "closed", "closed", "ignored", "ignored", "ignored"),
  goAway: row("closed", "closed", "closed", "lastTurn", "ignored", "ignored"),
  end: row("closed", "closed", "closed", "closed", "closed", "ignored"),
  close: row("closed", "closed", "closed", "closed", "closed", "ignored"),
};

function row(
  ...[opening, idle, spoken, listening, lastTurn, closed]: [Cell, Cell, Cell, Cell, Cell, Cell]
): Record<ConnectionState, Cell> {
  return { opening, idle, spoken, listening, lastTurn, closed };
}

describe("the table of a live connection", () => {
  const cells = connectionStates.flatMap((state) =>
    connectionEvents.map((event) => [state, event, expected[event][state]] as const),
  );
  it.each(cells)("%s × %s: %s", (state, event, cell) => {
    expect(connectionTable[state][event]).toBe(cell);
  });

  it("has a cell for every state and event, and no others", () => {
    expect(Object.keys(connectionTable)).toEqual([...connectionStates]);
    for (const cellsOfState of Object.values(connectionTable))
      expect(Object.keys(cellsOfState)).toEqual([...connectionEvents]);
  });
});

/** The state after these events. */
const after = (...events: ConnectionEvent[]) => events.reduce<ConnectionState>(nextConnectionState, "opening");

describe("a live connection", () => {
  it("C1: is entered and left by one turn after the other", () => {
    expect(after("connected", "enter")).toBe("listening");
    expect(after("connected", "enter", "leave")).toBe("idle");
    expect(after("connected", "enter", "leave", "enter")).toBe("listening");
  });

  it("C1: refuses a second turn, and a turn that comes too early or too late", () => {
    const sentence = "A live connection that is listening cannot take the event enter.";
    expect(() => after("connected", "enter", "enter")).toThrow(sentence);
    expect(() => after("enter")).toThrow("that is opening");
    expect(() => after("connected", "close", "enter")).toThrow("that is closed");
  });

  it("C2: shows calls only while a turn listens", () => {
    expect(connectionStates.filter(isListening)).toEqual(["listening", "lastTurn"]);
  });

  it("C3: keeps speech between turns until a turn takes it", () => {
    expect(after("connected", "speech")).toBe("spoken");
    expect(after("connected", "speech", "speech")).toBe("spoken");
    expect(after("connected", "speech", "enter")).toBe("listening");
    expect(after("connected", "enter", "speech")).toBe("listening");
  });

  it("C4: lets a turn finish after goAway, and closes then", () => {
    expect(after("connected", "enter", "goAway")).toBe("lastTurn");
    expect(after("connected", "enter", "goAway", "leave")).toBe("closed");
  });

  it("C4: closes at once after goAway when no turn listens", () => {
    expect(after("goAway")).toBe("closed");
    expect(after("connected", "goAway")).toBe("closed");
    expect(after("connected", "speech", "goAway")).toBe("closed");
  });

  it("C5: is closed when another agent connects between turns, and not during one", () => {
    expect(after("connected", "another")).toBe("closed");
    expect(after("connected", "speech", "another")).toBe("closed");
    expect(after("connected", "enter", "another")).toBe("listening");
  });

  it("C6: stays closed", () => {
    const events = connectionEvents.filter((event) => event !== "enter");
    expect(new Set(events.map((event) => after("close", event)))).toEqual(new Set(["closed"]));
  });
});

describe("on every walk of a live connection", () => {
  const walk = fc.array(fc.constantFrom(...connectionEvents), { maxLength: 30 });
  /** Each event that is not refused, with the states around it. */
  function stepsOf(events: readonly ConnectionEvent[]) {
    let state: ConnectionState = "opening";
    return events.flatMap((event) => {
      if (connectionTable[state][event] === "refused") return [];
      const before = state;
      state = nextConnectionState(before, event);
      return [{ before, event, state }];
    });
  }

  it("at most one turn listens, and only `connected` opens it", () => {
    fc.assert(
      fc.property(walk, (events) => {
        let listeners = 0;
        let isOpen = false;
        for (const { before, event, state } of stepsOf(events)) {
          if (event === "connected" && before === "opening") isOpen = true;
          if (event === "enter") listeners += 1;
          if (event === "leave" || state === "closed") listeners = 0;
          expect(listeners).toBe(isListening(state) ? 1 : 0);
          if (!isOpen) expect(["opening", "closed"]).toContain(state);
        }
      }),
    );
  });

  it("closed is final, and `end` and `close` lead there from every state", () => {
    fc.assert(
      fc.property(walk, (events) => {
        for (const { before, event, state } of stepsOf(events)) {
          if (before === "closed" || event === "end" || event === "close") expect(state).toBe("closed");
        }
      }),
    );
  });

  it("after goAway no further turn can enter", () => {
    fc.assert(
      fc.property(walk, (events) => {
        const steps = stepsOf(events);
        const from = steps.findIndex(({ event }) => event === "goAway");
        if (from >= 0) expect(steps.slice(from + 1).some(({ event }) => event === "enter")).toBe(false);
      }),
    );
  });
});
