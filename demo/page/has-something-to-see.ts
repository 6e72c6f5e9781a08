import type { UIMessage } from "ai";

/**
 * Whether a reply is to be drawn. An outcome that was decided elsewhere comes as a message of its own, and what it says
 * is drawn in the card it is about; until the model speaks of it, there is nothing else.
 */
export function hasSomethingToSee({ parts, metadata }: Pick<UIMessage, "parts" | "metadata">): boolean {
  if (typeof (metadata as { error?: unknown } | undefined)?.error === "string") return true;
  return parts.some((part) => {
    if (part.type === "text" || part.type === "reasoning") return part.text !== "";
    return part.type !== "step-start" && !part.type.startsWith("data-");
  });
}
