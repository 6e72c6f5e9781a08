import type { ApprovalCard, CardField, LocalText } from "../../protocol/index.ts";
import { describeError, type Logger, within } from "../support/index.ts";
import { cardLimits, isCurrencyCode, isLanguageTag } from "./card-limits.ts";
import { withDeclaredOrder } from "./declared-order.ts";
import type { CardPolicy } from "./policy.ts";

/** How long the function of a hint may take. The question waits for it. */
const hintMs = 1000;

interface CardCall {
  toolName: string;
  /** The arguments as JSON, as they are stored. */
  input: string;
  /** The names of the arguments as the chat shows them. */
  shown: readonly string[];
  /** The names that the tool declares. */
  declared: readonly string[];
  logger: Logger;
}

/**
 * What a policy says about one call, and the order of its arguments, as it is stored with the row. The function of a hint gets
 * a copy of the arguments, so that it cannot change what runs. A hint that cannot be made is left out: the arguments are on
 * the card in any case.
 */
export async function makeCard(
  policy: CardPolicy,
  { toolName, input, shown, declared, logger }: CardCall,
): Promise<ApprovalCard | undefined> {
  const { title, icon, tone } = policy;
  const args = () => JSON.parse(input) as Record<string, unknown>;
  const warn = (error: unknown) =>
    logger.warn("The hint of a call could not be made; its card has none.", {
      tool: toolName,
      error: describeError(error),
    });
  const hint = await makeHint(policy.hint, args).catch(warn);
  const described = makeFields(policy.fields ?? {}, args());
  const fields = withDeclaredOrder(described, { declared, shown, stored: Object.keys(args()) });
  const card: ApprovalCard = {
    ...(title !== undefined && { title }),
    ...(hint !== undefined && { hint }),
    ...(icon !== undefined && { icon }),
    ...(tone !== undefined && { tone }),
    ...(Object.keys(fields).length > 0 && { fields }),
  };
  return Object.keys(card).length > 0 ? card : undefined;
}

async function makeHint(hint: CardPolicy["hint"], args: () => Record<string, unknown>): Promise<LocalText | undefined> {
  if (typeof hint !== "function") return hint;
  const made: unknown = await within(
    hintMs,
    Promise.resolve(hint(args())),
    () => new Error(`The function took longer than ${hintMs} ms.`),
  );
  if (made === undefined || made === null || made === "") return undefined;
  if (typeof made === "string") return shorten(made);
  if (typeof made !== "object" || Array.isArray(made))
    throw new TypeError(`A hint must be a text, not ${typeof made}.`);
  const texts = Object.entries(made as Record<string, unknown>).map(([tag, text]) => {
    if (!isLanguageTag(tag) || typeof text !== "string")
      throw new TypeError("A hint for several languages must be an object of texts by language, such as { en, ja }.");
    return [tag, shorten(text)] as const;
  });
  if (texts.length === 0 || texts.length > cardLimits.languages)
    throw new TypeError(`A hint must have 1 to ${cardLimits.languages} languages; it has ${texts.length}.`);
  return Object.fromEntries(texts);
}

/** A hint often contains arguments, which may be long. They are on the card in full. */
function shorten(text: string): string {
  const whole = text.replaceAll(/\p{Surrogate}|\0/gu, "\ufffd");
  if (whole.length <= cardLimits.hint) return whole;
  // The cut may not divide a surrogate pair.
  return `${whole.slice(0, cardLimits.hint - 1).replace(/\p{Surrogate}$/u, "")}…`;
}

/** The fields of the arguments that the call has, each currency as a code. */
function makeFields(fields: Record<string, CardField>, args: Record<string, unknown>): Record<string, CardField> {
  const present = Object.entries(fields).filter(([name]) => Object.hasOwn(args, name));
  return Object.fromEntries(present.map(([name, field]) => [name, makeField(field, args)]));
}

function makeField({ label, format, currency }: CardField, args: Record<string, unknown>): CardField {
  const named = currency === undefined || isCurrencyCode(currency) ? currency : args[currency];
  return {
    ...(label !== undefined && { label }),
    ...(format !== undefined && { format }),
    ...(isCurrencyCode(named) && { currency: named }),
  };
}
