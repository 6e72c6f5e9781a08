/** A count of all rows, which costs too much to be made each time. */
interface SharedCount {
  /** How many there are. Exact for what this process added; what other processes added is seen a little later. */
  value(limit: number | undefined): Promise<number>;
  added(): void;
}

/** How long a count of all rows stands. Other processes may add to it meanwhile. */
const freshMs = 5000;

export function sharedCount(recount: () => Promise<number>): SharedCount {
  let known: { count: number; at: number } | undefined;
  return {
    async value(limit) {
      if (limit === undefined || limit === Infinity) return 0;
      const isFresh = known && performance.now() - known.at < freshMs;
      if (!known || !isFresh || known.count >= limit) known = { count: await recount(), at: performance.now() };
      return known.count;
    },
    added() {
      if (known) known.count += 1;
    },
  };
}
