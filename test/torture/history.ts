import type { ApprovalState } from "../../src/protocol/index.ts";
import type { ClientInput, ClientOutput } from "./approval-models.ts";
import type { Operation } from "./linearizable.ts";

/** A message that the server has acknowledged. */
export interface Acknowledged {
  chat: string;
  id: string;
  text: string;
}

/** What clients asked for and what they were told, by the clock of this process. */
export class History {
  readonly operations = new Map<string, Operation<ClientInput, ClientOutput>[]>();
  readonly acknowledged: Acknowledged[] = [];
  /** How often each thing happened, by its name. */
  readonly counts = new Map<string, number>();
  /** Calls of which only clients can say what became. */
  readonly reported = new Set<string>();
  /** Replies that no server may give. */
  readonly wrong: string[] = [];
  readonly #lastRead = new Map<string, ApprovalState>();

  count(name: string, by = 1): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + by);
  }

  /** Performs an operation on an approval and records it. Undefined: it is not known what became of it. */
  async perform(
    approval: string,
    input: ClientInput,
    work: () => Promise<ClientOutput | undefined>,
  ): Promise<ClientOutput | undefined> {
    const called = performance.now();
    const output = await work();
    this.#add(approval, { input, output, called, returned: output ? performance.now() : Infinity });
    return output;
  }

  /** Records the state in which a list showed an approval. Repetitions prove nothing more, so they are left out. */
  noteRead(approval: string, state: ApprovalState, called: number): void {
    if (this.#lastRead.get(approval) === state) return;
    this.#lastRead.set(approval, state);
    this.#add(approval, { input: { do: "read" }, output: { state }, called, returned: performance.now() });
  }

  #add(approval: string, operation: Operation<ClientInput, ClientOutput>): void {
    const operations = this.operations.get(approval);
    if (operations) operations.push(operation);
    else this.operations.set(approval, [operation]);
  }
}
