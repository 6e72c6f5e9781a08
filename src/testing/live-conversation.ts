import type { Content, FunctionCall, Part } from "@google/genai";
import type { LiveFunctionResponse } from "./live-messages.ts";
import { estimateTokens } from "./pieces-to-steps.ts";

/**
 * The words and calls of a live session. A later socket can resume it with a handle.
 *
 *   open call ── its whole step has responses ──► due ── the model is not speaking ──► contents, and a new response
 *        └────── cancelled
 *
 * The calls of one response that the model waits for are one step. A call that it does not wait for is a step of its
 * own.
 */
export interface LiveConversation {
  /** A copy of the turns so far. */
  contents(): readonly Content[];
  /** An estimate of their tokens. */
  tokens(): number;
  addTurns(turns: readonly Content[]): void;
  /** Adds the turn of the model. Its place is here even if it speaks later: it does not know the turns that follow. */
  beginTurn(): ModelTurn;
  /** Takes the response to a call. Returns what is wrong with it, or whether it may interrupt the model. */
  respond(response: LiveFunctionResponse): { readonly error: string } | { readonly interrupts: boolean };
  /** Takes back the calls without a response, and returns their ids. */
  cancelCalls(): string[];
  /** Moves the first responses that are due into the contents. Returns false if none are. */
  takeDue(): boolean;
  /** Called when another socket resumes this conversation. */
  release: (() => void) | undefined;
}

/** One turn of the model, while it is made. */
export interface ModelTurn {
  /** Whether the model waits for responses: it says nothing until it has them all. */
  isWaiting(): boolean;
  say(part: Part): void;
  /** Makes calls, and returns them with their ids. */
  call(calls: readonly FunctionCall[], blocking: boolean): FunctionCall[];
  /** The model has said everything. Returns false if the turn goes on after responses that the model waits for. */
  finish(): boolean;
  /** The model was stopped. The turn keeps what was said until then. */
  stop(): void;
}

interface Call {
  readonly id: string;
  readonly name: string;
  readonly step: Step;
  state: "open" | "responded" | "cancelled";
  response?: Part;
}

interface Step {
  readonly calls: Call[];
  readonly blocking: boolean;
  /** Whether more calls may be added. */
  isOpen: boolean;
}

/** Creates an empty conversation. */
export function createLiveConversation(): LiveConversation {
  const contents: Content[] = [];
  const calls = new Map<string, Call>();
  const due: Content[] = [];
  let made = 0;

  function make({ id, name = "", args = {} }: FunctionCall, step: Step): FunctionCall {
    if (id === undefined) made += 1;
    const known = { id: id ?? String(made), name, args };
    const entry: Call = { id: known.id, name, step, state: "open" };
    calls.set(known.id, entry);
    step.calls.push(entry);
    return known;
  }

  function settle(step: Step, place: "last" | "first" | "silent" = "last"): void {
    if (step.isOpen || step.calls.some(({ state }) => state === "open")) return;
    const parts = step.calls.flatMap(({ response }) => response ?? []);
    if (parts.length === 0) return;
    const turn: Content = { role: "user", parts };
    if (place === "silent") contents.push(turn);
    else if (place === "first") due.unshift(turn);
    else due.push(turn);
  }

  return {
    release: undefined,
    contents: () => [...contents],
    tokens: () => contents.reduce((sum, turn) => sum + tokensOf(turn), 0),
    addTurns: (turns) => contents.push(...turns),

    beginTurn: () => {
      let turn: Content = { role: "model", parts: [] };
      contents.push(turn);
      const step: Step = { calls: [], blocking: true, isOpen: true };
      const add = (...parts: Part[]): void => {
        const grown: Content = { role: "model", parts: join(turn.parts ?? [], parts) };
        contents[contents.lastIndexOf(turn)] = grown;
        turn = grown;
      };
      const end = (): void => {
        step.isOpen = false;
        settle(step);
      };
      return {
        isWaiting: () => step.calls.some(({ state }) => state === "open"),
        say: (part) => add(part),
        call: (wanted, blocking) => {
          const named = wanted.map((one) => make(one, blocking ? step : { calls: [], blocking: false, isOpen: false }));
          add(...named.map((functionCall) => ({ functionCall })));
          return named;
        },
        finish: () => {
          end();
          return step.calls.every(({ state }) => state === "cancelled");
        },
        stop: () => {
          end();
          // A turn that was stopped before its first word is removed, so that the user's turn before it is still fresh.
          if (turn.parts?.length === 0) contents.splice(contents.lastIndexOf(turn), 1);
        },
      };
    },

    respond: ({ id, name, response = {}, scheduling }) => {
      const call = id === undefined ? undefined : calls.get(id);
      if (call === undefined) return { error: `a response to call ${label(id)}, which this session never made` };
      if (call.state !== "open") {
        const why = call.state === "cancelled" ? "was cancelled" : "already has one";
        return { error: `a response to call ${label(id)}, which ${why}` };
      }
      if (name !== undefined && name !== call.name) {
        return { error: `a response of ${name} to call ${label(id)}, which is one of ${call.name}` };
      }
      call.state = "responded";
      call.response = { functionResponse: { id: call.id, name: call.name, response } };
      const choice = call.step.blocking ? undefined : scheduling;
      settle(call.step, choice === "SILENT" ? "silent" : choice === "INTERRUPT" ? "first" : "last");
      return { interrupts: choice === "INTERRUPT" };
    },

    cancelCalls: () => {
      const open = [...calls.values()].filter(({ state }) => state === "open");
      for (const call of open) call.state = "cancelled";
      for (const step of new Set(open.map((call) => call.step))) settle(step);
      return open.map(({ id }) => id);
    },

    takeDue: () => {
      const turn = due.shift();
      if (turn === undefined) return false;
      contents.push(turn);
      return true;
    },
  };
}

const counted = new WeakMap<Content, number>();

/** Each turn is counted once: turns are replaced and never changed, and every request counts the whole conversation. */
function tokensOf(turn: Content): number {
  const known = counted.get(turn) ?? estimateTokens(turn);
  counted.set(turn, known);
  return known;
}

/** Adds parts to parts, and joins texts of one kind that follow one another. */
function join(parts: readonly Part[], more: readonly Part[]): Part[] {
  const joined = [...parts];
  for (const part of more) {
    const last = joined.at(-1);
    const continues = part.text !== undefined && last?.text !== undefined && part.thought === last.thought;
    if (continues) joined[joined.length - 1] = { ...last, text: `${last.text}${part.text}` };
    else joined.push(part);
  }
  return joined;
}

function label(id: string | undefined): string {
  return id === undefined ? "without an id" : `"${id}"`;
}
