/** The median of some measurements. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The value that so large a part of some measurements is not above. */
export function quantile(values: readonly number[], at: number): number {
  const position = Math.min(values.length - 1, Math.floor(values.length * at));
  return values.toSorted((a, b) => a - b)[position] ?? Number.NaN;
}

/** The p50 and p99 of some milliseconds, as text. */
export function quantiles(values: readonly number[]): string {
  return `${quantile(values, 0.5).toFixed(2).padStart(6)} / ${quantile(values, 0.99).toFixed(2).padStart(6)}`;
}

/** `a / b`, as text. */
export function ratio(a: number, b: number): string {
  return (a / b).toFixed(2).padStart(5);
}

/** A number with separators, as text. */
export function thousands(value: number): string {
  return Math.round(value).toLocaleString("en").padStart(9);
}

/** The lowest and the highest value, as text, so that a reader sees how far to trust the median. */
export function spread(values: readonly number[]): string {
  return `(${thousands(Math.min(...values)).trim()}–${thousands(Math.max(...values)).trim()})`;
}

/** Measures every candidate once per round, so that a slow moment of the machine affects all of them alike. */
export async function alternate(
  rounds: number,
  candidates: Record<string, ((round: number) => Promise<number>) | undefined>,
  { warmUp = 0 }: { /** Rounds that are not counted. */ warmUp?: number } = {},
): Promise<Record<string, number[]>> {
  const measured: Record<string, number[]> = {};
  for (let round = 0; round < warmUp + rounds; round++)
    for (const [name, measure] of Object.entries(candidates)) {
      const value = await measure?.(round);
      if (value !== undefined && round >= warmUp) (measured[name] ??= []).push(value);
    }
  return measured;
}

/** One figure with its goal, as a line. */
export function goal(name: string, value: number, { most, least }: { most?: number; least?: number }): string {
  const isMet = (most === undefined || value <= most) && (least === undefined || value >= least);
  const wanted = most === undefined ? `≥ ${least}` : `≤ ${most}`;
  return `  ${name.padEnd(52)} ${value.toFixed(2).padStart(8)}   goal ${wanted}: ${isMet ? "met" : "MISSED"}`;
}

/** Says whether this run met a target. */
export function verdict(target: string, isMet: boolean): string {
  return `  target ${target}: ${isMet ? "met" : "MISSED"}`;
}
