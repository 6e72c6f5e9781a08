import { setTimeout as sleep } from "node:timers/promises";
import type { HttpWire } from "./http-wire.ts";
import type { Step } from "./pieces-to-steps.ts";
import type { GeminiResponseEnd } from "./script.ts";

/** Sends a response step by step, with `delayMs` between two chunks, and says how it ended. */
export async function playSteps(
  steps: readonly Step[],
  wire: HttpWire,
  { stream, delayMs }: { stream: boolean; delayMs: number },
): Promise<GeminiResponseEnd> {
  let isFirst = true;
  for (const step of steps) {
    switch (step.kind) {
      case "wait":
        await wire.unlessGone(step.until);
        break;
      case "send":
        if (!stream) {
          await wire.end(step.response);
          return "sent";
        }
        if (!isFirst && delayMs > 0) await wire.unlessGone(sleep(delayMs));
        isFirst = false;
        await wire.send(step.response);
        break;
      case "fail":
        await wire.fail(step.code, step.message);
        return "sent";
      case "drop":
        wire.drop();
        return "dropped";
      default:
        return step satisfies never;
    }
  }
  await wire.end();
  return "sent";
}
