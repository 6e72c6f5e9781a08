import type { Content, FunctionCall, Part } from "@google/genai";
import type { LiveFunctionResponse } from "./live-messages.ts";
import { estimateTokens } from "./pieces-to-steps.ts";

/**
 * What was said and called in a live session: what a later socket takes up again by its handle.
 *
 *   call made ── responses of its whole step ──► due ── the model has time ──► contents, and the model speaks of it
 *        └───── cancelled
 *
 * Calls the model waits for are one step per answer; a call it does not wait for is a step of its own.
 */
export interface LiveConversation {
  /** The turns so far, as they are now. */
  contents(): readonly Content[];
  /** About how many tokens they are. */
  tokens(): number;
  hear(turns: readonly Content[]): void;
  /** The model's turn. Its place is here even if it speaks later: it has not heard what comes meanwhile. */
  beginTurn(): ModelTurn;
  /** Takes a response; says what is wrong with it, or whether it may interrupt the model. */
  respond(response: LiveFunctionResponse): { readonly error: string } | { readonly interrupts: boolean };
  /** Takes back the calls without a response; their ids. */
  cancelCalls(): string[];
  /** Moves the responses that came first into the contents; false where none are due. */
  takeDue(): boolean;
  /** Called when another socket takes this conversation up. */
  release: (() => void) | undefined;
}

export interface ModelTurn {
  /** Whether the model waits for responses: it says nothing until they are all there. */
  waits(): boolean;
  say(part: Part): void;
  /** The calls with their ids. */
  call(calls: readonly FunctionCall[], blocking: boolean): FunctionCall[];
  /** The model has said all; false while it waits for responses and its turn goes on behind them. */
  finish(): boolean;
  /** The model was stopped; what it said so far is what it said. */
  stop(): void;
}

interface Call {
  readonly id: string;
  readonly name: string;
  readonly step: Step;
  state: "open" | "answered" | "cancelled";
  response?: Part;
}

interface Step {
  readonly calls: Call[];
  readonly blocking: boolean;
  /** More calls may come. */
  speaking: boolean;
}

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
    if (step.speaking || step.calls.some(({ state }) => state === "open")) return;
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
    hear: (turns) => contents.push(...turns),

    beginTurn: () => {
      let turn: Content = { role: "model", parts: [] };
      contents.push(turn);
      const step: Step = { calls: [], blocking: true, speaking: true };
      const add = (...parts: Part[]): void => {
        const grown: Content = { role: "model", parts: join(turn.parts ?? [], parts) };
        contents[contents.lastIndexOf(turn)] = grown;
        turn = grown;
      };
      const end = (): void => {
        step.speaking = false;
        settle(step);
      };
      return {
        waits: () => step.calls.some(({ state }) => state === "open"),
        say: (part) => add(part),
        call: (wanted, blocking) => {
          const named = wanted.map((one) =>
            make(one, blocking ? step : { calls: [], blocking: false, speaking: false }),
          );
          add(...named.map((functionCall) => ({ functionCall })));
          return named;
        },
        finish: () => {
          end();
          return step.calls.every(({ state }) => state === "cancelled");
        },
        stop: () => {
          end();
          // A model that was stopped before its first word has not answered: what it was asked is still new.
          if (turn.parts?.length === 0) contents.splice(contents.lastIndexOf(turn), 1);
        },
      };
    },

    respond: ({ id, name, response = {}, scheduling }) => {
      const call = id === undefined ? undefined : calls.get(id);
      if (call === undefined) return { error: `a response to call ${label(id)}, which this session never made` };
      if (call.state !== "open") return { error: `a response to call ${label(id)}, which was ${call.state} before` };
      if (name !== undefined && name !== call.name) {
        return { error: `a response of ${name} to call ${label(id)}, which is one of ${call.name}` };
      }
      call.state = "answered";
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

/** Counted once: a turn is not changed but replaced, and a long talk is asked about often. */
function tokensOf(turn: Content): number {
  const known = counted.get(turn) ?? estimateTokens(turn);
  counted.set(turn, known);
  return known;
}

/** Words of one kind become one part again. */
function join(parts: readonly Part[], more: readonly Part[]): Part[] {
  const joined = [...parts];
  for (const part of more) {
    const last = joined.at(-1);
    const goesOn = part.text !== undefined && last?.text !== undefined && part.thought === last.thought;
    if (goesOn) joined[joined.length - 1] = { ...last, text: `${last.text}${part.text}` };
    else joined.push(part);
  }
  return joined;
}

function label(id: string | undefined): string {
  return id === undefined ? "without an id" : `"${id}"`;
}
