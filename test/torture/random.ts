/** Random choices that depend on nothing but their seed. */
export interface Random {
  /** From 0 to 1. */
  next(): number;
  /** A whole number from 0 to `below` - 1. */
  below(below: number): number;
  /** True with this probability. */
  chance(probability: number): boolean;
  pick<T>(values: readonly [T, ...T[]]): T;
  shuffle<T>(values: readonly T[]): T[];
}

/** The generator mulberry32. The same words make the same choices. */
export function randomFrom(...seed: readonly (string | number)[]): Random {
  let state = 0x811c9dc5;
  for (const character of seed.join("/")) state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 0x01000193);
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    next,
    below,
    chance: (probability) => next() < probability,
    pick: (values) => values[below(values.length)] ?? values[0],
    shuffle(values) {
      const shuffled = [...values];
      for (let index = shuffled.length - 1; index > 0; index -= 1) {
        const other = below(index + 1);
        [shuffled[index], shuffled[other]] = [shuffled[other] as (typeof shuffled)[number], shuffled[index] as never];
      }
      return shuffled;
    },
  };
}
