/**
 * A checker for linearizability, after Wing and Gong, with the memo of Lowe. Operations overlapped in time. A history is
 * linearizable if each operation can be placed at one moment between its call and its return so that, in the order of these
 * moments, the model allows every output.
 *
 * An operation without an output (a timeout, a lost connection) may have taken effect at any moment after its call, or not
 * at all.
 */

export interface Operation<Input, Output> {
  input: Input;
  /** Undefined if no response came. */
  output: Output | undefined;
  /** When it was called and when its response came, by one clock. */
  called: number;
  /** `Infinity` without a response. */
  returned: number;
}

export interface Model<State extends string, Input, Output> {
  initial: State;
  /**
   * The states that an operation may lead to if it has this output; none if it cannot have it in this state. Without an
   * output, the states that it may lead to at all.
   */
  step(state: State, input: Input, output: Output | undefined): readonly State[];
}

/** How many different situations are looked at before a history counts as too large to be checked. */
const maxSituations = 500_000;

/** An order of the operations that explains all outputs; undefined if there is none. */
export function findOrder<State extends string, Input, Output>(
  model: Model<State, Input, Output>,
  operations: readonly Operation<Input, Output>[],
): Operation<Input, Output>[] | undefined {
  // In the order of their calls, so that the search for the next operation can stop early.
  const all = operations.toSorted((a, b) => a.called - b.called);
  const answered = all.filter(({ output }) => output !== undefined).length;
  const order: Operation<Input, Output>[] = [];
  const placed = Array.from(all, () => false);
  const seen = new Set<string>();

  const place = (state: State, left: number): boolean => {
    if (left === 0) return true;
    const situation = `${state}|${placed.map((isPlaced) => (isPlaced ? 1 : 0)).join("")}`;
    if (seen.has(situation)) return false;
    seen.add(situation);
    if (seen.size > maxSituations) throw new Error(`A history of ${all.length} operations is too large to be checked.`);
    // An operation may come next only if no other one returned before it was called.
    let firstReturn = Infinity;
    for (const [index, { returned }] of all.entries())
      if (!placed[index] && returned < firstReturn) firstReturn = returned;
    for (const [index, operation] of all.entries()) {
      if (operation.called > firstReturn) break;
      if (placed[index]) continue;
      placed[index] = true;
      order.push(operation);
      for (const next of model.step(state, operation.input, operation.output))
        if (place(next, operation.output === undefined ? left : left - 1)) return true;
      order.pop();
      placed[index] = false;
    }
    return false;
  };
  return place(model.initial, answered) ? order : undefined;
}
