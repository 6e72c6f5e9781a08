import { cardTones, fieldFormats } from "../../protocol/index.ts";
import { quote } from "../../protocol/quote.ts";
import { cardLimits, isLanguageTag } from "./card-limits.ts";
import type { CardPolicy } from "./policy.ts";

/** Throws a sentence that names the first wrong part of what a policy says about its cards, for example `tools.pay.tone`. */
export function checkCard(option: string, policy: CardPolicy): void {
  const { title, hint, icon, tone, fields } = policy as Record<keyof CardPolicy, unknown>;
  checkText(`${option}.title`, title, cardLimits.title);
  if (typeof hint !== "function") checkText(`${option}.hint`, hint, cardLimits.hint, "a text or a function");
  if (icon !== undefined && !isOneCharacter(icon))
    refuse(`${option}.icon`, "one character, for example an emoji", icon);
  checkOneOf(`${option}.tone`, tone, cardTones);
  if (fields === undefined) return;
  if (!isObject(fields)) refuse(`${option}.fields`, "an object with the names of arguments", fields);
  const names = Object.keys(fields);
  if (names.length > cardLimits.fields)
    refuse(`${option}.fields`, `an object with at most ${cardLimits.fields} names`, names.length);
  for (const name of names) checkField(`${option}.fields.${name}`, fields[name]);
}

function checkField(option: string, field: unknown): void {
  if (!isObject(field)) refuse(option, "an object such as { label, format }", field);
  const { label, format, currency } = field;
  checkText(`${option}.label`, label, cardLimits.label);
  checkOneOf(`${option}.format`, format, fieldFormats);
  if (currency === undefined) return;
  if (typeof currency !== "string" || currency === "")
    refuse(`${option}.currency`, "an ISO 4217 code or the name of an argument", currency);
  if (format !== "money") refuse(`${option}.format`, '"money", because the field has a currency', format);
}

function checkText(option: string, text: unknown, longest: number, expected = "a text"): void {
  if (text === undefined) return;
  const each = isObject(text) ? text : { "": text };
  const tags = Object.keys(each);
  if (tags.length === 0 || tags.length > cardLimits.languages)
    refuse(option, `${expected} in 1 to ${cardLimits.languages} languages`, text);
  for (const tag of tags) {
    const name = tag === "" && !isObject(text) ? option : `${option}.${tag}`;
    if (name !== option && !isLanguageTag(tag))
      refuse(option, `${expected}, or texts by language such as en or ja`, text);
    const value = each[tag];
    if (typeof value !== "string" || value.trim() === "") refuse(name, expected, value);
    if (value.length > longest) refuse(name, `${expected} of at most ${longest} characters`, value);
  }
}

function checkOneOf(option: string, value: unknown, allowed: readonly string[]): void {
  if (value === undefined || allowed.some((each) => each === value)) return;
  refuse(option, `one of ${allowed.map((each) => `"${each}"`).join(", ")}`, value);
}

function isOneCharacter(value: unknown): boolean {
  if (typeof value !== "string" || value.length > cardLimits.icon || value.trim() === "") return false;
  // Several code points can be one character: a flag, an emoji with a colour.
  return [...new Intl.Segmenter().segment(value)].length === 1;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function refuse(option: string, expected: string, value: unknown): never {
  const got = typeof value === "function" ? "a function" : quote(value);
  throw new Error(`The option ${option} must be ${expected}; it is ${got}.`);
}
