import { readErrand, type Errand } from "./read-errand.ts";
import { mentionsOtherCurrency, mentionsPayment, readPayments, type Payment } from "./read-payments.ts";
import {
  isCapitalised,
  isName,
  isWord,
  normalise,
  splitJapaneseList,
  stripLeadIn,
  tokenise,
  type Token,
} from "./words.ts";

/** Everything that one message asks for. */
export interface DemoRequest {
  readonly payments: readonly Payment[];
  /** The places whose weather the message asks for. */
  readonly places: readonly string[];
  /** Whether the message asks where the user is. */
  readonly location: boolean;
  /** The track to play; `another` if the message names none. */
  readonly track: number | "another" | undefined;
  /** The service to deploy. */
  readonly service: string | undefined;
  /** A call of a sample tool. Such a message asks for nothing else. */
  readonly errand: Errand | undefined;
  /** What the model has to ask the user because the message does not say it. */
  readonly unclear: "payment" | "currency" | "place" | undefined;
}

const nothing: DemoRequest = {
  payments: [],
  places: [],
  location: false,
  track: undefined,
  service: undefined,
  errand: undefined,
  unclear: undefined,
};

/** Reads a message in English or Japanese. */
export function readRequest(message: string): DemoRequest {
  const text = normalise(message);
  const errand = readErrand(text);
  if (errand) return { ...nothing, errand };
  const foreign = mentionsPayment(text) && mentionsOtherCurrency(text);
  const payments = foreign ? [] : readPayments(text);
  const weather = weatherWord.test(text);
  const japanesePlaces = weather ? readJapanesePlaces(text) : [];
  const places = weather && japanesePlaces.length === 0 ? readEnglishPlaces(text) : japanesePlaces;
  const location = locationWord.test(text);
  const track = readTrack(text);
  const service = readService(text);
  const clear = payments.length > 0 || places.length > 0 || location || track !== undefined || service !== undefined;
  return {
    payments,
    places,
    location,
    track,
    service,
    errand,
    unclear: clear && !foreign ? undefined : findUnclear(text, foreign, weather),
  };
}

function findUnclear(text: string, foreign: boolean, weather: boolean): DemoRequest["unclear"] {
  if (foreign) return "currency";
  if (weather) return "place";
  return mentionsPayment(text) ? "payment" : undefined;
}

const weatherWord =
  /\b(?:weather|forecast|temperature|rain|raining|sunny|snow|snowing)\b|天気|気温|天候|予報|(?:雨|晴れ|雪)(?=[\s?が降で]|$)/iu;
const locationWord =
  /\bwhere(?: am i|['’]?re we| are we)\b|\b(?:my|our) (?:current )?(?:location|position|whereabouts)\b|現在地|現在位置|位置情報|(?:今|いま|ここは|私は|僕は)、?どこ|どこにいる/iu;

const aroundHere = ["here", "ここ", "この辺", "こっち", "現在地", "今いるところ"];
const placeEnds = ["will", "be", "going", "tomorrow", "expected", "looking"];

/** The words after "in", or those directly before "weather". */
function readEnglishPlaces(text: string): string[] {
  const tokens = tokenise(text);
  const keyword = tokens.findIndex((token) => token.kind === "word" && weatherWord.test(token.raw));
  if (keyword === -1) return [];
  const starts = tokens.flatMap((token, at) => (isWord(token, "in", "at", "for", "of", "near") ? [at + 1] : []));
  const after = starts.filter((start) => start > keyword);
  for (const start of [...after, ...starts.filter((at) => at <= keyword && isWord(tokens[at - 1], "in", "near"))]) {
    const places = readPlacesAt(tokens, start);
    if (places.length > 0) return places;
  }
  let start = keyword;
  while (isPlaceWord(tokens[start - 1]) && isCapitalised(tokens[start - 1])) start -= 1;
  if (start === keyword && keyword === 1 && isPlaceWord(tokens[0])) start = 0;
  const before = tokens
    .slice(start, keyword)
    .map(({ raw }) => raw.replace(/['’]s$/u, ""))
    .join(" ");
  return before === "" ? [] : [before];
}

/** A place, and the capitalised places after it that follow "and" or a comma. */
function readPlacesAt(tokens: readonly Token[], start: number): string[] {
  let next = start;
  while (isPlaceWord(tokens[next])) next += 1;
  if (next === start) return [];
  const place = tokens
    .slice(start, next)
    .map(({ raw }) => raw)
    .join(" ");
  const comma = tokens[next]?.raw === ",";
  if (!comma && !isWord(tokens[next], "and")) return [place];
  if (!isCapitalised(tokens[next + 1]) || tokens[next + 2]?.kind === "amount") return [place];
  const others = readPlacesAt(tokens, next + 1);
  // "Paris, France" is one place; a list has "and" before its last place.
  return comma && others.length === 1 ? [place] : [place, ...others];
}

function isPlaceWord(token: Token | undefined): boolean {
  return isName(token) && !isWord(token, ...placeEnds, ...aroundHere) && !weatherWord.test(token.raw);
}

const when = "(?:今日|明日|明後日|現在|今|いま|今週|週末|今夜)(?:の|は)?";
const japaneseWeather =
  /^(.*?)(?:の|は|って|では|で)?(?:今日|明日|明後日|現在|今|いま|今週|週末|今夜)?の?お?(?:天気|気温|天候|予報|雨|晴れ|雪)/u;

/** The words before の天気 in each clause. */
function readJapanesePlaces(text: string): string[] {
  return text.split(/[、。,!?\s]/u).flatMap((clause) => {
    const said = japaneseWeather.exec(clause)?.[1] ?? "";
    const place = stripTimes(stripLeadIn(stripTimes(said)));
    return splitJapaneseList(place).filter((name) => !aroundHere.includes(name));
  });
}

function stripTimes(phrase: string): string {
  return phrase.replace(new RegExp(`^(?:${when})+`, "u"), "").replace(/(?:の|は|って|では|で)$/u, "");
}

const englishDeployment =
  /\bdeploy(?:ing|s)?\b(?:\s+(?:the|our|my|a|an|this|that))?(?:\s+(?<service>[a-z0-9][\w-]*))?/iu;
const japaneseDeployment = /(?:(?<service>[\p{L}\p{N}_-]+?)(?:を|の))?(?:本番(?:環境)?に)?デプロイ/u;

/** The word after "deploy", or the one before をデプロイ. */
function readService(text: string): string | undefined {
  const said = englishDeployment.exec(text) ?? japaneseDeployment.exec(text);
  if (!said) return undefined;
  return said.groups?.["service"] ?? "shop";
}

const trackWords: Readonly<Record<string, number>> = { one: 1, first: 1, 一: 1, two: 2, second: 2, 二: 2 };
const musicWord = /\b(?:music|bgm|tracks?|songs?|tune)\b|曲|音楽|トラック/iu;
const trackNumber =
  /\b(?:music|bgm|track|song|tune)\b(?:\s*(?:to|number|no\.?|#|track|song))*\s*#?\s*(\d+|one|two)|\b(first|second)\s+(?:track|song|tune)|(?:曲|トラック|音楽|BGM)[^\d一二、。]{0,4}([\d一二]+)|([\d一二]+)\s*(?:番|曲目|つ目)/iu;

function readTrack(text: string): number | "another" | undefined {
  if (!musicWord.test(text) || /\b(?:stop|pause|turn off)\b|止め|消し/iu.test(text)) return undefined;
  const said = trackNumber
    .exec(text)
    ?.slice(1)
    .find((group) => group !== undefined);
  if (said === undefined) return "another";
  const track = trackWords[said.toLowerCase()] ?? Number(said);
  return Number.isInteger(track) && track > 0 ? track : "another";
}
