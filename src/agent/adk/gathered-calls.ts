import {
  createEvent,
  type Event,
  Gemini,
  generateClientFunctionCallId,
  type InvocationContext,
  isLlmAgent,
  type LlmRequest,
  type LlmResponse,
  StreamingMode,
} from "@google/adk";
import type { FunctionCall, Part } from "@google/genai";
import { readInputs } from "./call-input.ts";
import { CallLimit } from "./excess-calls.ts";
import { callsOf } from "./history.ts";
import { addMissingTools } from "./missing-tool.ts";

/**
 * The calls of one model response, from its request to its last streamed piece.
 *
 * K15: ADK runs the tools of each streamed piece separately, so calls of one response could end up in several steps. A held
 * call must be in one step with its siblings, so the calls are taken out of the pieces and put into the last one.
 *
 * K11: a piece with nothing but usage after a call makes ADK ask the model again, after a transfer or a long-running call.
 * Such usage is taken out and counted separately.
 */
export class GatheredCalls {
  /** The tools of the request, where ADK looks up the called ones (K17). */
  readonly #tools: LlmRequest["toolsDict"];
  /** The names of the tools that the agent itself offered, before callbacks could add any. */
  readonly #offered: ReadonlySet<string>;
  readonly #calls: Part[] = [];
  readonly #limit: CallLimit;
  #stage: "no-calls" | "called" | "held" = "no-calls";

  /** @param limit how many calls of the response may run */
  constructor(tools: LlmRequest["toolsDict"], limit = Infinity) {
    this.#tools = tools;
    this.#limit = new CallLimit(limit);
    this.#offered = new Set(Object.keys(tools));
  }

  /** True when no call waits for the response's last piece. */
  get isEmpty(): boolean {
    return this.#calls.length === 0;
  }

  /** True for a tool that the agent itself offered. */
  offered(toolName: string): boolean {
    return this.#offered.has(toolName);
  }

  /** A call of this response was held; calls that follow are dropped. */
  hold(): void {
    this.#stage = "held";
  }

  /** Takes one complete piece of the response and changes it in place. */
  async take(
    response: LlmResponse,
    context: InvocationContext,
    ids: CallIds,
  ): Promise<{
    /** True when calls were dropped. */ dropped: boolean;
    /** Usage that is in no event. */ usage?: Event;
  }> {
    const parts = response.content?.parts ?? [];
    const made = parts.filter((part) => part.functionCall);
    const calls = this.#limit.keep(made);
    const others = parts.filter((part) => !part.functionCall);
    const keepOthers = () => {
      response.content = others.length > 0 ? { ...response.content, parts: others } : undefined;
    };
    if (calls.length > 0) {
      await this.#adopt(calls, context, ids);
      if (this.#stage === "no-calls") this.#stage = "called";
      this.#calls.push(...calls);
    }
    let dropped = false;
    if (this.#stage === "held" && this.#calls.splice(0).length > 0) {
      dropped = true;
      keepOthers();
    } else if (made.length > 0 && hasLaterPiece(context, response)) {
      keepOthers();
      response.usageMetadata = undefined; // the last piece repeats it
    } else if (this.#calls.length > 0) {
      response.content = { role: "model", parts: [...others, ...this.#calls.splice(0)] };
    } else if (calls.length < made.length) {
      keepOthers();
    }
    const isUsageOnly = this.#stage !== "no-calls" && !response.content && !response.errorCode;
    return { dropped, ...(isUsageOnly && takeUsage(response, context)) };
  }

  /** Makes each call one that can be answered: its id is unique in the session, its name is a tool's. */
  async #adopt(calls: readonly Part[], { session }: InvocationContext, { usedIds, isInner }: CallIds): Promise<void> {
    const used = new Set(session.events.flatMap(callsOf).map(({ id }) => id));
    for (const { functionCall } of this.#calls) if (functionCall?.id) used.add(functionCall.id);
    // Regenerated replies have left the history, but their approvals are still in the ledger.
    if (calls.some(({ functionCall }) => functionCall?.id)) for (const id of await usedIds()) used.add(id);
    const made = calls.flatMap(({ functionCall }): FunctionCall[] => (functionCall ? [functionCall] : []));
    for (const call of made) {
      // Models may count their calls from one in every response, and so may each agent that is run as a tool.
      if (call.id && (isInner || used.has(call.id))) call.id = generateClientFunctionCallId();
      if (call.id) used.add(call.id);
    }
    addMissingTools(made, this.#tools);
    readInputs(made, this.#tools);
  }
}

interface CallIds {
  /** Ids of calls that have a row in this session. */
  usedIds: () => Promise<string[]>;
  /** True in the session of an agent that is run as a tool. */
  isInner: boolean;
}

/** K15: when streaming, ADK's `Gemini` class always sends one more piece with the usage after a piece with calls. */
function hasLaterPiece({ agent, runConfig }: InvocationContext, { usageMetadata }: LlmResponse): boolean {
  if (runConfig?.streamingMode !== StreamingMode.SSE || !usageMetadata || !isLlmAgent(agent)) return false;
  const { canonicalModel } = agent;
  return canonicalModel instanceof Gemini && !canonicalModel.useInteractionsApi;
}

function takeUsage(response: LlmResponse, { invocationId, agent, branch }: InvocationContext): { usage?: Event } {
  const { usageMetadata } = response;
  if (!usageMetadata) return {};
  response.usageMetadata = undefined;
  return { usage: createEvent({ invocationId, author: agent?.name, branch, usageMetadata }) };
}
