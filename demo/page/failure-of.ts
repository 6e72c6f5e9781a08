import type { UIMessage } from "ai";

/** Why a reply ended early, in the words of the server. */
export function failureOf({ metadata }: Pick<UIMessage, "metadata">): string | undefined {
  const { error } = (metadata ?? {}) as { error?: unknown };
  return typeof error === "string" ? error : undefined;
}
