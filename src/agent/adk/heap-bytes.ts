/**
 * About how many bytes a value of JSON takes in memory, without its strings: rather too many than too few. Measured for
 * frozen objects; only objects with names that no other object has take more.
 */
export function structureBytes(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let bytes = 64;
  for (const inner of Object.values(value)) bytes += 16 + structureBytes(inner);
  return bytes;
}

/** About how many bytes so many characters take at most. */
export function textBytes(length: number): number {
  return 32 + 2 * length;
}
