/**
 * One turn's view of a live model's reply, as a state machine: when is the turn over, and what does silence mean? Gemini Live
 * reports the end of each of *its* turns, which is not always the end of ours. docs/design/live.md has the same rules.
 *
 *            text               calls              results
 *   silent ───────► speaking ─────────► tools ─────────────► silent
 *      │ interrupted   │ end
 *      ▼               ▼
 *   interrupted      done          complete ── gone ──► done
 *      │ end
 *      ▼      text
 *   trailing ───────► speaking     trailing ── end, silence ──► done
 *
 *   L1 The end of the model's turn ends ours, once it has said something or had nothing to wait for.
 *   L2 A turn that only called ends without a word; ours goes on until the results have been spoken about.
 *   L3 The end that follows an interruption belongs to the interrupted reply. More may follow, or not: `trailing`.
 *   L4 If calls got their responses before we read the end of their turn, the model may have more to say: `trailing`.
 *   L5 Silence means failure, except while tools run (it means nothing) and when the reply may be over (it is over).
 *   L6 After an agent has said that its part is done, the end of the run is the end of the turn. Otherwise it is a failure.
 *      An agent of plain code that comes next may still call: `complete-tools`.
 *   L7 When another agent takes over, the reply starts again.
 */
export const replyStates = [
  "silent",
  "speaking",
  "tools",
  "interrupted",
  "trailing",
  "complete",
  "complete-tools",
] as const;
export type ReplyState = (typeof replyStates)[number];

export const replyEvents = [
  /** Text, or anything else that is shown. */
  "text",
  /** The model calls tools; they run until the next event. */
  "calls",
  /** The results of tools. */
  "results",
  /** The agent said that its part is done (`task_completed`, `escalate`). */
  "completed",
  /** The model was interrupted. */
  "interrupted",
  /** The end of the model's turn, with no call open. */
  "end",
  /** The same, with calls open that still wait. */
  "end-waiting",
  /** The same, with calls open at that moment that have got their responses since; or the end of an interrupted reply. */
  "end-responded",
  /** Another agent of the run has connected. */
  "another",
  /** Nothing came for as long as `patienceMs` allows. */
  "silence",
  /** The run ended. */
  "gone",
] as const;
export type ReplyEvent = (typeof replyEvents)[number];

/** How a turn can be over. */
export type ReplyVerdict = "done" | "too-silent" | "disconnected";

export const replyTable: Readonly<Record<ReplyState, Readonly<Record<ReplyEvent, ReplyState | ReplyVerdict>>>> = {
  silent: {
    text: "speaking",
    calls: "tools",
    results: "silent",
    completed: "complete",
    interrupted: "interrupted",
    end: "done",
    "end-waiting": "silent",
    "end-responded": "trailing",
    another: "silent",
    silence: "too-silent",
    gone: "disconnected",
  },
  speaking: {
    text: "speaking",
    calls: "tools",
    results: "silent",
    completed: "complete",
    interrupted: "interrupted",
    end: "done",
    "end-waiting": "done",
    "end-responded": "trailing",
    another: "silent",
    silence: "too-silent",
    gone: "disconnected",
  },
  tools: {
    text: "speaking",
    calls: "tools",
    results: "silent",
    completed: "complete",
    interrupted: "interrupted",
    end: "done",
    "end-waiting": "silent",
    "end-responded": "trailing",
    another: "silent",
    silence: "tools",
    gone: "disconnected",
  },
  interrupted: {
    text: "interrupted",
    calls: "tools",
    results: "interrupted",
    completed: "complete",
    interrupted: "interrupted",
    end: "trailing",
    "end-waiting": "trailing",
    "end-responded": "trailing",
    another: "silent",
    silence: "too-silent",
    gone: "disconnected",
  },
  trailing: {
    text: "speaking",
    calls: "tools",
    results: "silent",
    completed: "complete",
    interrupted: "interrupted",
    end: "done",
    "end-waiting": "trailing",
    "end-responded": "trailing",
    another: "silent",
    silence: "done",
    gone: "disconnected",
  },
  complete: {
    text: "complete",
    calls: "complete-tools",
    results: "complete",
    completed: "complete",
    interrupted: "complete",
    end: "done",
    "end-waiting": "complete",
    "end-responded": "complete",
    another: "silent",
    silence: "done",
    gone: "done",
  },
  "complete-tools": {
    text: "complete",
    calls: "complete-tools",
    results: "complete",
    completed: "complete",
    interrupted: "complete",
    end: "done",
    "end-waiting": "complete",
    "end-responded": "complete",
    another: "silent",
    silence: "complete-tools",
    gone: "done",
  },
};

export function nextReplyState(state: ReplyState, event: ReplyEvent): ReplyState | ReplyVerdict {
  return replyTable[state][event];
}

export function isOver(next: ReplyState | ReplyVerdict): next is ReplyVerdict {
  return next === "done" || next === "too-silent" || next === "disconnected";
}

/** How long a reply that may be over waits for more. */
const trailingMs = 5000;

/** L5: how long the model may be silent in a state; undefined while silence means nothing. */
export function patienceMs(state: ReplyState, silenceMs: number): number | undefined {
  if (state === "tools" || state === "complete-tools") return undefined;
  return state === "trailing" ? Math.min(silenceMs, trailingMs) : silenceMs;
}
