/**
 * What the server's owner says about a call on its card, beside the arguments. It is only ever shown as text, never as HTML.
 * A page that knows nothing of it shows the tool's name and the arguments.
 */
export interface ApprovalCard {
  /** What the call does, in a few words. */
  title?: LocalText;
  /** A sentence about this call. It can contain values that the model chose. */
  hint?: LocalText;
  /** One character, for example an emoji. */
  icon?: string;
  /** How much care the decision needs. */
  tone?: CardTone;
  /**
   * How to show the arguments, by their names and in this order. An empty entry says nothing but the place of its argument.
   * Arguments without an entry are shown too, after these.
   */
  fields?: Record<string, CardField>;
}

/**
 * A text: the same for every language, or one for each language tag (`en`, `ja`, `pt-BR`), of which the first is the default.
 */
export type LocalText = string | Readonly<Record<string, string>>;

/** How much care a decision needs, from the least to the most. */
export const cardTones = ["neutral", "caution", "danger"] as const;
/** One of `cardTones`. */
export type CardTone = (typeof cardTones)[number];

/** The ways to show an argument. */
export const fieldFormats = ["text", "multiline", "code", "number", "money", "date", "boolean"] as const;
/** How to show one argument. A value that does not fit its format is shown as it is. */
export type FieldFormat = (typeof fieldFormats)[number];

/** How a card shows one argument of a call. Without any of these it is shown as an argument without an entry is. */
export interface CardField {
  /** Shown instead of the argument's name. */
  label?: LocalText;
  /** How to show the value. Default: as it is. */
  format?: FieldFormat;
  /** For `money`: the ISO 4217 code. In a policy also the name of the argument that has the code. */
  currency?: string;
}

/** The text for a language: the one with this tag, else one of the same language, else the first. */
export function textIn(text: LocalText, language = ""): string {
  if (typeof text === "string") return text;
  const tags = Object.keys(text);
  const wanted = language.toLowerCase();
  const tag =
    tags.find((each) => each.toLowerCase() === wanted) ??
    tags.find((each) => primaryOf(each) === primaryOf(wanted)) ??
    tags[0];
  return tag === undefined ? "" : (text[tag] ?? "");
}

function primaryOf(tag: string): string {
  return tag.toLowerCase().split("-", 1)[0] ?? "";
}
