import { callWords } from "adk-stream-protocol/react";
import { textIn } from "adk-stream-protocol/protocol";
import type { Card } from "./cards.ts";
import type { Language } from "./strings.ts";

/** What a card is called, and the words that tell it from other calls of its tool. */
export function cardName(
  { title, input, card }: Pick<Card, "title" | "input" | "card">,
  language: Language,
): { title: string; words: string } {
  return { title: textIn(title, language), words: callWords(input, card?.fields, language) };
}
