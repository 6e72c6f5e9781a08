import type { UIMessage } from "ai";

/**
 * Whether the page shows words of its last reply that the server does not have. When a server dies in the middle of a reply,
 * the next one removes the unfinished words and lets the model say them again.
 */
export function showsMore(local: readonly UIMessage[], server: readonly UIMessage[]): boolean {
  const last = local.at(-1);
  if (last?.role !== "assistant") return false;
  const known = server.at(-1);
  if (known?.id === last.id) return textLength(last) > textLength(known);
  return known?.role === "user" && server.length === local.length - 1 && textLength(last) > 0;
}

function textLength({ parts }: UIMessage): number {
  return parts.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : 0), 0);
}
