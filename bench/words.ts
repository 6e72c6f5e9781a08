/** How many deltas the long reply has. */
export const deltas = 3000;

/** The long reply, word by word: what every model here says, and what those without one send. */
export const words: readonly string[] = Array.from({ length: deltas }, (_, index) => `word${index} `);
