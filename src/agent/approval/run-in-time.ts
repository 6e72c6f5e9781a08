import type { EffectClass } from "../../protocol/index.ts";
import type { JsonObject } from "../../stores/index.ts";
import type { Beginning, ToolOutcome } from "../adk/tool-result.ts";

/** The attempt gives up: it is not known whether the call took effect. */
export interface Surrender {
  event: "lose";
  outcome: JsonObject;
}

interface Attempt {
  run: () => Promise<ToolOutcome | Beginning>;
  /** Aborts the tool's `toolContext.abortSignal`. */
  abort: AbortController;
}

interface TimeLimit {
  /** How long the tool may take; undefined means as long as it likes. */
  timeoutMs: number | undefined;
  effect: EffectClass;
  /** Prepares a second attempt with the same idempotency key. */
  again: () => Promise<Attempt>;
  lookUp: () => Promise<ToolOutcome | "unknown" | undefined>;
  /** The tool has ended after it was given up. */
  onLate: (outcome: ToolOutcome) => void;
}

/** How long a tool may take to end after its signal was aborted. */
const endingMs = 1000;

/**
 * Runs a tool within its time limit. When the limit is over, the tool's signal is aborted, and the tool gets a moment to end.
 * A result that it returns then counts. Otherwise its effect class decides, as it does after a crash:
 *
 *   readonly                    failed: it changes nothing
 *   idempotent, transactional   tried once more, with the same key; then not known
 *   queryable                   looked up; if nothing is found, not known, because the tool may still be running
 *   opaque                      not known
 */
export async function runInTime(attempt: Attempt, limit: TimeLimit): Promise<ToolOutcome | Beginning | Surrender> {
  const { timeoutMs, effect } = limit;
  if (timeoutMs === undefined) return attempt.run();
  const first = await runOnce(attempt, timeoutMs);
  if (!("running" in first)) return first;
  const seconds = timeoutMs / 1000;
  const stopped = `The tool took longer than ${seconds} seconds and was stopped`;
  switch (effect) {
    case "readonly":
      return { event: "fail", outcome: { error: `${stopped}.` } };
    case "queryable": {
      const found = await limit.lookUp();
      if (found && found !== "unknown") return found;
      break;
    }
    case "idempotent":
    case "transactional": {
      const again = await limit.again().catch(() => undefined);
      const second = again && (await runOnce(again, timeoutMs));
      if (second && !("running" in second)) return second;
      break;
    }
    case "opaque":
      break;
  }
  void first.running.then((outcome) => {
    if (outcome.event === "succeed") limit.onLate(outcome);
  });
  return {
    event: "lose",
    outcome: { error: `${stopped}; it may have taken effect. Do not repeat it without asking the user.` },
  };
}

/** The result of one attempt, or the attempt that still runs, or that failed after its signal was aborted. */
async function runOnce(
  { run, abort }: Attempt,
  timeoutMs: number,
): Promise<ToolOutcome | Beginning | { running: Promise<ToolOutcome | Beginning> }> {
  const running = run();
  const inTime = await within(timeoutMs, running);
  if (inTime) return inTime;
  abort.abort(new Error(`The tool took longer than ${timeoutMs / 1000} seconds.`));
  const late = await within(endingMs, running);
  // Aborting may be what made the tool fail, so its failure says nothing about its effect.
  return late && late.event !== "fail" ? late : { running };
}

async function within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), Math.min(ms, 2 ** 31 - 1));
  });
  try {
    return await Promise.race([promise, over]);
  } finally {
    clearTimeout(timer);
  }
}
