import { textIn } from "adk-stream-protocol/protocol";
import { callWords } from "./call-words.ts";
import type { Card } from "./cards.ts";
import type { Language } from "./strings.ts";

/** What a card is called, and the words that tell it from other calls of its tool. */
export function cardName(
  { title, input, fields }: Pick<Card, "title" | "input" | "fields">,
  language: Language,
): { title: string; words: string } {
  return { title: textIn(title, language), words: callWords(input, fields, language) };
}
