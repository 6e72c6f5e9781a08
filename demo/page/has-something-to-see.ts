import type { UIMessage } from "ai";
import { failureOf } from "./failure-of.ts";
import { isCodePart } from "./is-code-part.ts";

/**
 * Whether the page draws a reply. The outcome of a call in an older message arrives in a new message, but the page shows
 * it in the call's card. Until the model adds text, the new message has nothing else to show.
 */
export function hasSomethingToSee({ parts, metadata }: Pick<UIMessage, "parts" | "metadata">): boolean {
  if (failureOf({ metadata }) !== undefined) return true;
  return parts.some((part) => {
    if (part.type === "text" || part.type === "reasoning") return part.text !== "";
    return part.type !== "step-start" && (!part.type.startsWith("data-") || isCodePart(part));
  });
}
