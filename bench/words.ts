/** How many deltas the long reply has. */
export const deltas = 3000;

/** The long reply, word by word. Every model of the bench says it, and servers without a model send it. */
export const words: readonly string[] = Array.from({ length: deltas }, (_, index) => `word${index} `);
