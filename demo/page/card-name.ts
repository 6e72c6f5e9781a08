import type { ApprovalInfo } from "adk-stream-protocol/client";
import { callWords } from "adk-stream-protocol/react";
import { textIn } from "adk-stream-protocol/protocol";
import type { Language } from "./strings.ts";

/** What a card is called, and the words that tell it from other calls of its tool. */
export function cardName(
  { toolName, input, card }: Pick<ApprovalInfo, "toolName" | "input" | "card">,
  language: Language,
): { title: string; words: string } {
  return { title: textIn(card?.title ?? toolName, language), words: callWords(input, card?.fields, language) };
}
