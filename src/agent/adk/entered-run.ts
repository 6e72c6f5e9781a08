import { BridgeError } from "../../protocol/index.ts";
import { yieldEvery } from "../support/index.ts";
import type { GatheredCalls } from "./gathered-calls.ts";
import type { RunScope } from "./run-scope.ts";

/** Why a run was ended by the gate: it was about to do something that cannot be gated. */
export class RunRefused extends BridgeError {
  constructor(message: string, options?: ErrorOptions) {
    super("unavailable", message, options);
  }
}

/** The store failed while a call was held, and it is not known whether the ledger has the call. */
export class HoldUnknown extends RunRefused {
  constructor(options?: ErrorOptions) {
    super("It is not known whether a call was recorded. Try again in a moment.", options);
  }
}

/** How long the calls of a run keep the event loop: ADK makes them one after the other, and a tool may never wait. */
const sliceMs = 5;

/** A run that has entered the gate. */
export class EnteredRun {
  readonly scope: RunScope;
  readonly gathered: GatheredCalls[] = [];
  /** Set by the gate when it has held a call: the run makes no further request. */
  isPaused = false;
  /** True after `leave`: the run's later calls are refused. */
  isOver = false;
  /** Lets the event loop go on if the run has kept it for long. */
  readonly yieldLoop = yieldEvery(sliceMs);
  #refusal: RunRefused | undefined;
  readonly #onLeave: () => void;

  constructor(scope: RunScope, onLeave: () => void) {
    this.scope = scope;
    this.#onLeave = onLeave;
  }

  /** Ends the run: its turn fails with this error, also if the agent catches what the gate has thrown. */
  refuse(error: RunRefused): void {
    this.#refusal ??= error;
  }

  /** To be called between the events of the run, and when it ends or throws. */
  throwIfRefused(): void {
    if (this.#refusal) throw this.#refusal;
  }

  leave(): void {
    this.isOver = true;
    this.#onLeave();
  }
}

/** Ends the run if this work fails: a run that the store cannot follow goes no further. */
export async function endsRun<T>(run: EnteredRun | undefined, work: T | Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const why = error instanceof BridgeError ? error.message : "The reply could not go on. Try again in a moment.";
    run?.refuse(new RunRefused(why, { cause: error }));
    throw error;
  }
}
