/** Random, so that no tool can return a placeholder. */
const placeholderKey = `held-${crypto.randomUUID()}`;

/** What ADK gets as the result of a held call. The gate removes it from the event again. */
export const placeholder = (approvalId: string): Record<string, unknown> => ({ [placeholderKey]: approvalId });

export const isPlaceholder = (result: unknown): boolean =>
  typeof result === "object" && result !== null && placeholderKey in result;
