import type { UIMessage } from "ai";
import { visibleText } from "./visible-text.ts";

/** How long the title of a chat may be, in characters. */
export const maxTitleLength = 120;
/** A title that is made of a message is shorter. */
const firstWordsLength = 60;
/** More of a text is not looked at: a message may be long. */
const lookedAt = 2000;

/** What a person sees as one character may be many. */
const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const maxUnits = 8;

/** A title as one line of characters that can be seen. Empty if nothing is left. */
export function cleanTitle(text: string, maxLength = maxTitleLength): string {
  const runs = visibleText(text.slice(0, lookedAt));
  const line = runs.map((run) => (run.kind === "text" ? run.text : /\s/u.test(run.text) ? " " : "")).join("");
  return shorten(line.replace(/\s+/gu, " ").trim(), maxLength);
}

/** The first words of a message, or else the name of its first file. Empty if it has neither. */
export function titleOf({ parts }: UIMessage): string {
  const texts = parts.flatMap((part) => (part.type === "text" ? part.text : []));
  const names = parts.flatMap((part) => (part.type === "file" ? (part.filename ?? []) : []));
  for (const text of [...texts, ...names]) {
    const title = cleanTitle(text, firstWordsLength);
    if (title !== "") return title;
  }
  return "";
}

/** Cuts at the end of a word; within a word only if it is long, or in a language that writes no spaces. */
function shorten(text: string, maxLength: number): string {
  const characters = Array.from(segmenter.segment(text), ({ segment }) => segment);
  if (characters.length <= maxLength && text.length <= maxLength * maxUnits) return text;
  const cut = characters
    .slice(0, maxLength - 1)
    .join("")
    .slice(0, maxLength * maxUnits);
  const isWordEnd = characters[maxLength - 1] === " ";
  const space = isWordEnd ? -1 : cut.lastIndexOf(" ");
  const words = space > cut.length / 2 ? cut.slice(0, space) : cut;
  return `${words.trimEnd()}…`;
}
