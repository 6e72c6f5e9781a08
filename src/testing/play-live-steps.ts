import { setTimeout as sleep } from "node:timers/promises";
import type { FunctionCall } from "@google/genai";
import type { ModelTurn } from "./live-conversation.ts";
import type { LiveStep } from "./pieces-to-live-steps.ts";
import type { GeminiResponseEnd } from "./script.ts";
import type { Stoppable } from "./stoppable.ts";

/** What the steps of a response can do in their session. */
export interface LiveOutput {
  /** Resolves when the operating system has the message, so that what was sent before a drop does arrive. */
  send(message: Readonly<Record<string, unknown>>): Promise<void>;
  /** Tells the client that the model was interrupted and that its turn is over. */
  interruptTurn(): void;
  /** Tells the client that the turn is over. */
  completeTurn(fields: object, usage: object): void;
  /** Takes back the calls without a response, and returns their ids. */
  cancelCalls(): string[];
  /** Whether the model waits for the responses to these calls. */
  isBlocking(calls: readonly FunctionCall[]): boolean;
  close(code: number, reason: string): void;
  drop(): void;
}

/** Sends a response step by step, with `delayMs` between two messages, and says how it ended. */
export async function playLiveSteps(
  steps: readonly LiveStep[],
  turn: ModelTurn,
  { response, output, delayMs }: { response: Stoppable; output: LiveOutput; delayMs: number },
): Promise<GeminiResponseEnd> {
  const { unlessStopped } = response;
  let isFirst = true;
  const delay = async (): Promise<void> => {
    if (!isFirst && delayMs > 0) await unlessStopped(sleep(delayMs));
    isFirst = false;
  };
  for (const step of steps) {
    switch (step.kind) {
      case "wait":
        await unlessStopped(step.until);
        break;
      case "say":
        if (turn.isWaiting()) break;
        await delay();
        turn.say(step.part);
        await unlessStopped(output.send({ serverContent: { modelTurn: { role: "model", parts: [step.part] } } }));
        break;
      case "call": {
        await delay();
        const blocking = output.isBlocking(step.calls);
        const functionCalls = turn.call(step.calls, blocking);
        const usage = blocking && step.usage !== undefined ? { usageMetadata: step.usage } : {};
        await unlessStopped(output.send({ toolCall: { functionCalls }, ...usage }));
        break;
      }
      case "cancelCalls": {
        const ids = output.cancelCalls();
        if (ids.length > 0) await unlessStopped(output.send({ toolCallCancellation: { ids } }));
        break;
      }
      case "goAway":
        await unlessStopped(output.send({ goAway: { timeLeft: step.timeLeft } }));
        break;
      case "close":
        output.close(step.code, step.reason);
        return "sent";
      case "drop":
        output.drop();
        return "dropped";
      case "interrupted":
        turn.stop();
        output.interruptTurn();
        return "interrupted";
      case "end":
        if (!turn.finish()) return "sent";
        void output.send({ serverContent: { generationComplete: true } });
        output.completeTurn(step.closing, step.usage);
        return "sent";
      default:
        return step satisfies never;
    }
  }
  return "sent";
}
