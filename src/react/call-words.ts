import type { CardField } from "../protocol/card.ts";
import { visibleText } from "../protocol/visible-text.ts";
import { argumentsOf, type Fields, isRecord } from "./arguments-of.ts";
import { fieldText } from "./field-text.ts";
import { lookAlikes } from "./look-alikes.ts";

const lengthShown = 40;
const valuesShown = 2;

interface Value {
  text: string;
  format: CardField["format"];
}

/**
 * The few words that name a call on its button, in a list and for screen readers: `$50.00 → Hanako`. Empty if the call has
 * no argument that fits in a few words.
 */
export function callWords(input: unknown, fields: Fields = {}, language = "en"): string {
  if (!isRecord(input)) return "";
  const shown = argumentsOf(input, fields);
  // An amount already shows its currency.
  const currencies = shown.flatMap(({ field }) => (field.format === "money" ? field.currency : []));
  const found = shown.flatMap(({ value, field }): Value[] => {
    if (currencies.some((currency) => currency === value)) return [];
    const text = toText(value, field, language);
    return text === undefined ? [] : [{ text, format: field.format }];
  });
  // The beginning of a letter, and a yes or no without its question, do not name a call that has other arguments.
  const short = found.filter(({ format }) => format !== "multiline" && format !== "boolean");
  // An amount is what a person checks first.
  const isMoney = ({ format }: Value) => format === "money";
  const ordered = (short.length > 0 ? short : found).toSorted((one, other) => +isMoney(other) - +isMoney(one));
  const [first, second] = ordered.slice(0, valuesShown);
  if (!first) return "";
  if (!second) return first.text;
  return `${first.text} ${isMoney(first) && !isMoney(second) ? "→" : "·"} ${second.text}`;
}

function toText(value: unknown, field: CardField, language: string): string | undefined {
  // The recipients of a letter, for example. No more of them are looked at than can be shown.
  if (Array.isArray(value)) {
    const list = value.slice(0, lengthShown);
    const isNames = list.length > 0 && list.every((each) => typeof each === "string");
    return isNames ? toText(list.map((each) => each.slice(0, lengthShown * 4)).join(", "), {}, language) : undefined;
  }
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") return undefined;
  const text = fieldText(value, field, language)?.text ?? String(value);
  if (text.trim() === "") return undefined;
  // The arguments of the card say which letters look like others.
  const isDoubtful = lookAlikes(text.slice(0, lengthShown * 4), language).length > 0;
  return isolate(shorten(text)) + (isDoubtful ? " ⚠" : "");
}

/** At most a few words on one line. Characters that cannot be seen are shown by their names. */
function shorten(text: string): string {
  // Only the beginning is looked at, because the text can be very long.
  const beginning = Array.from(text.slice(0, lengthShown * 4)).slice(0, lengthShown + 1);
  const pieces = visibleText(beginning.join("")).flatMap((run) =>
    run.kind === "text" ? Array.from(run.text) : [` ${run.label} `],
  );
  const shown = pieces.slice(0, lengthShown).join("");
  return pieces.length > lengthShown ? `${shown.trimEnd()}…` : shown.trim();
}

const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** Keeps a value that is written from right to left from changing the order of what is around it. */
function isolate(text: string): string {
  return rightToLeft.test(text) ? `\u2068${text}\u2069` : text;
}
