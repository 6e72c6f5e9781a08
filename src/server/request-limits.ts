import type { ParseLimits } from "../protocol/index.ts";

/**
 * What may be in the JSON of a request, beside its bytes. The depth is larger than that of a call's arguments, because
 * clients send back what contains arguments. The numbers bound how long parsing holds the event loop: a large table with
 * a hundred thousand cells is within them.
 */
export const requestLimits: Readonly<ParseLimits> = {
  maxDepth: 64,
  maxKeys: 100_000,
  maxObjectKeys: 20_000,
  maxValues: 200_000,
};
