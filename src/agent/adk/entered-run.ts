import type { GatheredCalls } from "./gathered-calls.ts";
import type { RunScope } from "./run-scope.ts";

/** A run that has entered the gate. */
export class EnteredRun {
  readonly scope: RunScope;
  readonly gathered: GatheredCalls[] = [];
  /** Set by the gate when it has held a call: the run makes no further request. */
  isPaused = false;
  /** True after `leave`: the run's later calls are refused. */
  isOver = false;
  readonly #onLeave: () => void;

  constructor(scope: RunScope, onLeave: () => void) {
    this.scope = scope;
    this.#onLeave = onLeave;
  }

  leave(): void {
    this.isOver = true;
    this.#onLeave();
  }
}
