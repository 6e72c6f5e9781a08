/**
 * The life of a live connection, as a state machine. docs/design/live.md has the same drawing and rules.
 *
 *              connected          enter               goAway
 *   opening ─────────────► idle ─────────► listening ────────► lastTurn
 *      │                   │   ◄── leave ──┘   ▲                  │
 *      │            speech │                   │ enter            │ leave
 *      │                   ▼                   │                  │
 *      │                 spoken ───────────────┘                  │
 *      └─────────── end, close, … (every state) ──────► closed ◄──┘
 *
 *   C1 A turn enters a connection that is open and leaves it again; only one turn listens at a time.
 *   C2 Calls are shown only while a turn listens; at any other time they are refused.
 *   C3 Speech between turns waits in `spoken` until a turn takes it. Nothing more is read meanwhile.
 *   C4 After `goAway` the turn that listens may finish; then the connection closes. Without a turn it closes at once.
 *   C5 If another agent connects between turns (`another`), no one has asked for it: the connection closes.
 *   C6 `closed` is final.
 */
export const connectionStates = ["opening", "idle", "spoken", "listening", "lastTurn", "closed"] as const;
export type ConnectionState = (typeof connectionStates)[number];

export const connectionEvents = [
  /** The connection is there. */
  "connected",
  /** A turn begins to listen. */
  "enter",
  /** The turn stops listening. */
  "leave",
  /** The model speaks. */
  "speech",
  /** Another agent of the run has connected. */
  "another",
  /** The server announced that it will close. */
  "goAway",
  /** The run ended or failed. */
  "end",
  /** We close it. */
  "close",
] as const;
export type ConnectionEvent = (typeof connectionEvents)[number];

/** The next state of every state and event. `ignored`: nothing changes. `refused`: the caller broke a rule. */
export const connectionTable: Readonly<
  Record<ConnectionState, Readonly<Record<ConnectionEvent, ConnectionState | "ignored" | "refused">>>
> = {
  opening: {
    connected: "idle",
    enter: "refused",
    leave: "ignored",
    speech: "ignored",
    another: "ignored",
    goAway: "closed",
    end: "closed",
    close: "closed",
  },
  idle: {
    connected: "ignored",
    enter: "listening",
    leave: "ignored",
    speech: "spoken",
    another: "closed",
    goAway: "closed",
    end: "closed",
    close: "closed",
  },
  spoken: {
    connected: "ignored",
    enter: "listening",
    leave: "ignored",
    speech: "ignored",
    another: "closed",
    goAway: "closed",
    end: "closed",
    close: "closed",
  },
  listening: {
    connected: "ignored",
    enter: "refused",
    leave: "idle",
    speech: "ignored",
    another: "ignored",
    goAway: "lastTurn",
    end: "closed",
    close: "closed",
  },
  lastTurn: {
    connected: "ignored",
    enter: "refused",
    leave: "closed",
    speech: "ignored",
    another: "ignored",
    goAway: "ignored",
    end: "closed",
    close: "closed",
  },
  closed: {
    connected: "ignored",
    enter: "refused",
    leave: "ignored",
    speech: "ignored",
    another: "ignored",
    goAway: "ignored",
    end: "ignored",
    close: "ignored",
  },
};

/** The state after an event. Throws when the event is refused. */
export function nextConnectionState(state: ConnectionState, event: ConnectionEvent): ConnectionState {
  const next = connectionTable[state][event];
  if (next === "refused") throw new Error(`A live connection that is ${state} cannot take the event ${event}.`);
  return next === "ignored" ? state : next;
}

/** True while a turn listens. */
export function isListening(state: ConnectionState): boolean {
  return state === "listening" || state === "lastTurn";
}
