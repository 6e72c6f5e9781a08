/** Figures of one side, from the rounds in which it took its turn. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

function quantile(values: readonly number[], at: number): number {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * at))]!;
}

/** Milliseconds, p50 and p99. */
export function quantiles(values: readonly number[]): string {
  return `${quantile(values, 0.5).toFixed(2).padStart(6)} / ${quantile(values, 0.99).toFixed(2).padStart(6)}`;
}

export function ratio(a: number, b: number): string {
  return (a / b).toFixed(2).padStart(5);
}

export function thousands(value: number): string {
  return Math.round(value).toLocaleString("en").padStart(9);
}

/** The lowest and the highest, so that a reader sees how far to trust the median. */
export function spread(values: readonly number[]): string {
  return `(${thousands(Math.min(...values)).trim()}–${thousands(Math.max(...values)).trim()})`;
}

/** Every side takes its turn in every round, so that a slow moment of the machine meets all of them. */
export async function alternate(
  rounds: number,
  sides: Record<string, ((round: number) => Promise<number>) | undefined>,
  { warmUp = 0 }: { /** Rounds that are not counted. */ warmUp?: number } = {},
): Promise<Record<string, number[]>> {
  const measured: Record<string, number[]> = {};
  for (let round = 0; round < warmUp + rounds; round++)
    for (const [name, measure] of Object.entries(sides)) {
      const value = await measure?.(round);
      if (value !== undefined && round >= warmUp) (measured[name] ??= []).push(value);
    }
  return measured;
}

/** What an aim says and whether this run met it. */
export function verdict(aim: string, isMet: boolean): string {
  return `  aim ${aim}: ${isMet ? "met" : "MISSED"}`;
}
