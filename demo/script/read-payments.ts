import {
  isCapitalised,
  isName,
  isReserved,
  isWord,
  languageOf,
  numberPattern,
  splitJapaneseList,
  stripLeadIn,
  tokenise,
  toNumber,
  type Token,
} from "./words.ts";

/** A payment that a message asks for. */
export interface Payment {
  readonly amount: number;
  readonly recipient: string;
  readonly description?: string;
}

/** The payments that a message asks for, in its order. A question or a refusal asks for none. */
export function readPayments(text: string): Payment[] {
  if (notARequest.test(text)) return [];
  const japanese = languageOf(text) === "ja" ? readJapanese(text) : [];
  return japanese.length > 0 ? japanese : readEnglish(text);
}

/** Whether a message seems to ask for a payment, even if the amount or the name is missing. */
export function mentionsPayment(text: string): boolean {
  return (
    !notARequest.test(text) &&
    /\b(?:send|pay|transfer|wire|remit|payment|money)\b|送金|送って|払って|支払|振り?込/iu.test(text)
  );
}

/** Whether a message names an amount in a currency other than the demo's. */
export function mentionsOtherCurrency(text: string): boolean {
  return new RegExp(
    String.raw`[€£¥]\s*\d|${numberPattern}\s*(?:[€£¥]|円|ユーロ|ポンド|元|ウォン|(?:yen|jpy|euros?|eur|pounds?|gbp|yuan|won)\b)`,
    "iu",
  ).test(text);
}

const notARequest =
  /\b(?:don['’]?t|do not|didn['’]?t|did not|never|not to|did (?:you|i|we)|have (?:you|i|we)|how (?:do|can|would|much)|why)\b|ないで(?!す|しょ)|やめて|ましたか|った\?/iu;

const verbs = ["send", "sending", "pay", "paying", "transfer", "give", "wire", "remit", "payment", "payments"];

/**
 * Reads English from left to right. An amount is kept for the names after "to" ("30 to Alice and Bob"), names are kept
 * for the amount after them ("pay Alice and Bob 30 each"), and a verb discards both.
 */
function readEnglish(text: string): Payment[] {
  const tokens = tokenise(text);
  if (!tokens.some((token) => isWord(token, ...verbs) || (token.kind === "amount" && token.dollars))) return [];

  const payments: Payment[] = [];
  let amount: number | undefined;
  let names: string[] = [];
  let listing = false;

  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at];
    if (token?.kind === "amount") {
      payments.push(...names.map((recipient) => ({ amount: token.value, recipient })));
      listing = names.length > 0;
      amount = names.length > 0 ? undefined : token.value;
      names = [];
      continue;
    }
    const verb = isWord(token, ...verbs);
    const to = isWord(token, "to");
    const and = isWord(token, "and") || token?.raw === "," || token?.raw === "&";
    if (verb) {
      amount = undefined;
      names = [];
    }
    if (isWord(token, "for") && payments.length > 0 && names.length === 0) {
      const description = readDescription(tokens, at + 1);
      const paid = payments.at(-1);
      if (description !== undefined && paid !== undefined) {
        payments[payments.length - 1] = { ...paid, description: description.said };
        at = description.next - 1;
        listing = false;
      }
      continue;
    }
    if (!verb && !to && !and) {
      if (!isReserved(token)) listing = false;
      continue;
    }

    const name = readName(tokens, at + 1);
    if (name === undefined) continue;
    // If an amount is already known, an amount after a comma belongs to the next person.
    const follower = amount === undefined ? skipFiller(tokens, name.next) : name.next;
    const amountFollows = tokens[follower]?.kind === "amount" && !(to && amount !== undefined);
    const earlier = names[0] ?? payments.at(-1)?.recipient;
    if (and && (earlier === undefined || !(amountFollows || (listing && continuesList(tokens, name, earlier))))) {
      listing = false;
      continue;
    }
    if (amountFollows || amount === undefined) names.push(name.name);
    else payments.push({ amount, recipient: name.name });
    listing = true;
    at = name.next - 1;
  }
  return payments;
}

interface ReadName {
  readonly name: string;
  readonly first: Token | undefined;
  readonly next: number;
}

function readName(tokens: readonly Token[], start: number): ReadName | undefined {
  let next = start;
  while (isWord(tokens[next], "my", "our", "the", "mr", "mrs", "ms", "dr")) next += 1;
  const first = tokens[next];
  if (!isName(first)) return undefined;
  next += 1;
  const words = [first];
  for (let token = tokens[next]; isName(token) && isCapitalised(token); token = tokens[next]) {
    words.push(token);
    next += 1;
  }
  // In "my friend Bob" the name is Bob.
  if (words.length > 1 && !isCapitalised(first)) words.shift();
  return { name: withoutHonorific(words.map(({ raw }) => raw).join(" ")), first, next };
}

/** Whether "and X" continues a list of people. It does if only the list follows; otherwise X begins another clause. */
function continuesList(tokens: readonly Token[], { first, next }: ReadName, earlier: string): boolean {
  const follower = tokens[next];
  const alone = follower?.kind !== "word" || isWord(follower, "and", "each", "please", "for", "too", "now", "today");
  return alone && (isCapitalised(first) || !/^\p{Lu}/u.test(earlier));
}

function skipFiller(tokens: readonly Token[], start: number): number {
  let next = start;
  while (tokens[next]?.raw === ":" || tokens[next]?.raw === "," || isWord(tokens[next], "a", "the", "for", "of"))
    next += 1;
  return next;
}

function readDescription(tokens: readonly Token[], start: number): { said: string; next: number } | undefined {
  let next = start;
  const words: string[] = [];
  for (let token = tokens[next]; token?.kind === "word"; token = tokens[next]) {
    const following = tokens[next + 1];
    const anotherClause = following?.kind !== "word" || isReserved(following) || tokens[next + 2]?.kind === "amount";
    if (isWord(token, "please", "then", "thanks", ...verbs) || (isWord(token, "and") && anotherClause)) break;
    words.push(token.raw);
    next += 1;
  }
  return words.length === 0 ? undefined : { said: words.join(" "), next };
}

const person = String.raw`(?:(?<=^|[、。,\s])に)?(?:[^\s\d$、。,.!?:;にへを「」()]|(?<=\p{Script=Latin}) (?=\p{Script=Latin}))+`;
const to = String.raw`(?:宛て?に|あてに|に|への?)(?:それぞれ)?[、,\s]*(?:の?(?:送金|支払い?)(?:を|で|は)?[、,\s]*)?`;
const sum = (name: string): string =>
  String.raw`(?<sign${name}>[-\u2212])?\$?\s*(?<amount${name}>${numberPattern})\s*(?:米?ドル|usd|dollars?|\$)?`;
const japanesePayment = new RegExp(
  String.raw`(?<people1>${person})${to}${sum("1")}|${sum("2")}(?:ずつ)?(?:を|は)?[、,\s]*(?<people2>${person})(?:宛て?に|あてに|に|へ)`,
  "giu",
);

/** Reads Japanese: pairs of a person followed by に and an amount, in either order. */
function readJapanese(text: string): Payment[] {
  if (!/ドル|\$|usd|送|払|振り?込|渡し/iu.test(text)) return [];
  const description = /([^\s、。をにへ]+?)として/u.exec(text)?.[1];
  const payments: Payment[] = [];
  let end = 0;
  for (const { 0: all, index, groups = {} } of text.matchAll(japanesePayment)) {
    const sign = (groups["sign1"] ?? groups["sign2"]) === undefined ? 1 : -1;
    const amount = sign * toNumber(groups["amount1"] ?? groups["amount2"] ?? "");
    const said = groups["people1"] ?? groups["people2"] ?? "";
    // Directly after another payment と means "and"; elsewhere it may begin a name.
    const people = stripLeadIn(index > 0 && index === end ? said.replace(/^(?:ずつ)?[とや]/u, "") : said);
    payments.push(...splitJapaneseList(people).map((name) => ({ amount, recipient: withoutHonorific(name) })));
    end = index + all.length;
  }
  const [only] = payments;
  return only !== undefined && payments.length === 1 && description !== undefined
    ? [{ ...only, description }]
    : payments;
}

function withoutHonorific(name: string): string {
  const bare = name.replace(/(?:\s*(?:さん|さま|様|ちゃん|くん|君)|-(?:san|sama|chan|kun)|['’]s)$/iu, "").trim();
  return bare === "" ? name : bare;
}
