import type { Ask, ToolResponse } from "adk-stream-protocol/testing";
import { errandWords } from "./errand-words.ts";
import { normalise, toWords, type Language } from "./words.ts";

type Values = Readonly<Record<string, unknown>>;
type NotDone = "denied" | "expired" | "cancelled" | "failed" | "indeterminate" | "interrupted" | "executing";

/** A sentence about the outcome of one tool call. It says no more than the response of the tool does. */
export function describeOutcome(called: ToolResponse, language: Language): string {
  const response = unwrap(called.response);
  const outcome = outcomeOf(response);
  if (outcome === "done") return describeResult(called.name, called.args, response, language);
  const subject = nameCall(called.name, called.args, language);
  const untouched = untouchedWords[called.name === "process_payment" ? "payment" : "other"][language];
  const error = withFullStop(toWords(response["error"] ?? response["message"]), language);
  return notDone[language][outcome]({ subject, untouched, error, reason: reasonOf(response) });
}

const lateNote =
  /^\[context, not from the user\] The earlier call (\w+)\((.*?)\) (?:ended as \w+|has not ended yet): (.*)$/su;

/** Outcomes that the bridge adds as context, because the model was told before that they were not known yet. */
export function readLateOutcomes(contents: Ask["contents"]): ToolResponse[] {
  const lastModelTurn = contents.findLastIndex((turn) => turn.role === "model");
  return contents
    .slice(lastModelTurn + 1)
    .flatMap((turn) => turn.parts ?? [])
    .flatMap((part) => {
      const [, name, args, response] = lateNote.exec(part.text ?? "") ?? [];
      if (name === undefined || args === undefined || response === undefined) return [];
      return [{ id: undefined, name, args: parseValues(args), response: parseValues(response) }];
    });
}

function parseValues(json: string): Values {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "object" && value !== null ? (value as Values) : {};
  } catch {
    return { error: json };
  }
}

/** An amount of money, as the demo writes it. */
export function formatMoney(amount: unknown, currency: unknown, language: Language): string {
  const value = Number(amount);
  const digits = Number.isInteger(value) ? 0 : 2;
  const number = Number.isFinite(value)
    ? value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })
    : toWords(amount);
  if (typeof currency === "string" && currency.toUpperCase() !== "USD") return `${number} ${currency}`;
  if (language === "ja") return `${number}ドル`;
  return number.startsWith("-") ? `-$${number.slice(1)}` : `$${number}`;
}

/** The value of a response. ADK wraps the value of a tool that does not return an object. */
function unwrap(response: Values): Values {
  const keys = Object.keys(response);
  const [key] = keys;
  const inner = key === "result" || key === "output" ? response[key] : undefined;
  return keys.length === 1 && typeof inner === "object" && inner !== null ? (inner as Values) : response;
}

function outcomeOf(response: Values): NotDone | "done" {
  const { status, error, success } = response;
  if (error === undefined || error === null) return success === false ? "failed" : "done";
  const sentence = toWords(error);
  if (sentence.includes("may have taken effect")) return "indeterminate";
  if (typeof status === "string" && Object.hasOwn(notDone.en, status)) return status as NotDone;
  // Without a status, only the sentence tells the outcome.
  if (/\b(?:rejected|denied|declined|not approved)\b/iu.test(sentence)) return "denied";
  if (/\bexpired?\b|\btimed out\b/iu.test(sentence)) return "expired";
  return /\bcancell?ed\b/iu.test(sentence) ? "cancelled" : "failed";
}

/** The reason of the person who decided: the field `reason`, or the text after the colon of the sentence. */
function reasonOf(response: Values): string | undefined {
  if (typeof response["reason"] === "string" && response["reason"].trim() !== "") return response["reason"].trim();
  const said = /[:：]\s*(.+)$/su.exec(toWords(response["error"]))?.[1]?.trim();
  return said?.replace(/^["“「]|["”」]?[.。]?$/gu, "") || undefined;
}

interface About {
  readonly subject: string;
  readonly untouched: string;
  readonly error: string;
  readonly reason: string | undefined;
}

const untouchedWords = {
  payment: { en: "nothing was sent", ja: "何も送金していません" },
  other: { en: "nothing was done", ja: "何も行っていません" },
} as const;

const notDone: Record<Language, Record<NotDone, (about: About) => string>> = {
  en: {
    denied: ({ subject, untouched, reason }) =>
      `You did not approve ${subject}, so ${untouched}.${reason === undefined ? "" : ` Your reason: “${reason}”.`}`,
    expired: ({ subject, untouched }) => `The approval for ${subject} expired before it was answered, so ${untouched}.`,
    cancelled: ({ subject, untouched }) => `${capitalise(subject)} was cancelled, so ${untouched}.`,
    failed: ({ subject, error }) => `${capitalise(subject)} failed${error === "" ? "." : `: ${error}`}`,
    interrupted: ({ subject }) => `${capitalise(subject)} was interrupted, and I have no result of it.`,
    executing: ({ subject }) => `${capitalise(subject)} has started, and I do not know its outcome yet.`,
    indeterminate: ({ subject }) =>
      `I cannot tell whether ${subject} went through. Please check before trying it again.`,
  },
  ja: {
    denied: ({ subject, untouched, reason }) =>
      `${subject}は承認されなかったため、${untouched}。${reason === undefined ? "" : `理由：「${reason}」`}`,
    expired: ({ subject, untouched }) => `${subject}の承認は期限切れになったため、${untouched}。`,
    cancelled: ({ subject, untouched }) => `${subject}は取り消されたため、${untouched}。`,
    failed: ({ subject, error }) => `${subject}は失敗しました${error === "" ? "。" : `：${error}`}`,
    interrupted: ({ subject }) => `${subject}は中断され、結果は分かりません。`,
    executing: ({ subject }) => `${subject}は始まりましたが、結果はまだ分かりません。`,
    indeterminate: ({ subject }) => `${subject}が完了したかどうか分かりません。もう一度試す前に確認してください。`,
  },
};

function nameCall(tool: string, args: Values, language: Language): string {
  switch (tool) {
    case "process_payment": {
      const sum = formatMoney(args["amount"], args["currency"], language);
      const to = toWords(args["recipient"]);
      return language === "ja" ? `${to}さんへの${sum}の送金` : `the payment of ${sum} to ${to}`;
    }
    case "get_weather":
      return language === "ja"
        ? `${toWords(args["location"])}の天気の確認`
        : `the weather check for ${toWords(args["location"])}`;
    case "deploy":
      return language === "ja"
        ? `${toWords(args["service"])}のデプロイ`
        : `the deployment of ${toWords(args["service"])}`;
    case "get_location":
      return language === "ja" ? "位置情報の取得" : "sharing your location";
    case "change_bgm":
      return language === "ja"
        ? `曲${toWords(args["track"])}への切り替え`
        : `the change to track ${toWords(args["track"])}`;
    default:
      return (
        errandWords(tool, language)?.name(args) ?? (language === "ja" ? `${tool} の呼び出し` : `the call of ${tool}`)
      );
  }
}

function describeResult(tool: string, args: Values, result: Values, language: Language): string {
  switch (tool) {
    case "process_payment":
      return describePayment({ ...args, ...result }, language);
    case "get_weather":
      return describeWeather({ ...args, ...result }, language);
    case "get_location":
      return describeLocation(result, language);
    case "deploy":
      return describeDeployment({ ...args, ...result }, language);
    case "change_bgm": {
      const track = toWords(result["track"] ?? args["track"]);
      if (result["playing"] === false) {
        return language === "ja"
          ? `曲${track}を選びましたが、まだ再生されていません。`
          : `Track ${track} is chosen, but it is not playing yet.`;
      }
      return language === "ja" ? `曲${track}に変えました。` : `Now playing track ${track}.`;
    }
    default: {
      const words = errandWords(tool, language);
      if (words) return words.done(args, result);
      return language === "ja" ? `${tool} の結果：${list(result)}。` : `${tool} returned ${list(result)}.`;
    }
  }
}

function describePayment(paid: Values, language: Language): string {
  const sum = formatMoney(paid["amount"], paid["currency"], language);
  const balance = paid["wallet_balance"] ?? paid["balance"];
  const left = balance === undefined ? undefined : formatMoney(balance, paid["currency"], language);
  const transaction = paid["transaction_id"];
  if (language === "ja") {
    const sentences = [`${toWords(paid["recipient"])}さんに${sum}を送金しました。`];
    if (left !== undefined) sentences.push(`残高は${left}です。`);
    if (transaction !== undefined) sentences.push(`取引番号は ${toWords(transaction)} です。`);
    return sentences.join("");
  }
  const sentences = [`Done: I sent ${sum} to ${toWords(paid["recipient"])}.`];
  if (left !== undefined) sentences.push(`Your balance is now ${left}.`);
  if (transaction !== undefined) sentences.push(`The transaction is ${toWords(transaction)}.`);
  return sentences.join(" ");
}

const japaneseSkies: Readonly<Record<string, string>> = {
  clear: "晴れ",
  sunny: "晴れ",
  fair: "おおむね晴れ",
  cloudy: "くもり",
  fog: "霧",
  rain: "雨",
  "light rain": "小雨",
  snow: "雪",
};

function describeWeather(weather: Values, language: Language): string {
  const place = toWords(weather["location"] ?? weather["city"]);
  const sky = weather["condition"] ?? weather["conditions"] ?? weather["description"] ?? weather["weather"];
  const celsius = weather["temperature_c"] ?? weather["temperature"] ?? weather["temp"];
  const skyWords = typeof sky === "string" && language === "ja" ? (japaneseSkies[sky.toLowerCase()] ?? sky) : sky;
  const warmth = typeof celsius === "number" ? `${celsius} °C` : celsius;
  const known = [skyWords, warmth].filter((fact) => typeof fact === "string");
  const said = known.length > 0 ? known.join(language === "ja" ? "、" : ", ") : list(weather);
  return language === "ja" ? `${place}の天気：${said}。` : `The weather in ${place}: ${said}.`;
}

function describeLocation(result: Values, language: Language): string {
  const name = result["address"] ?? result["city"] ?? result["location"] ?? result["name"];
  const { latitude, longitude } = result;
  const coordinates =
    language === "ja"
      ? `緯度${toWords(latitude)}、経度${toWords(longitude)}`
      : `${toWords(latitude)}, ${toWords(longitude)}`;
  const located = latitude !== undefined && longitude !== undefined ? coordinates : list(result);
  const place = typeof name === "string" ? name : located;
  return language === "ja" ? `現在地は${place}です。` : `You are at ${place}.`;
}

/** A deployment that has begun, or its end. */
function describeDeployment(told: Values, language: Language): string {
  const service = toWords(told["service"]);
  if (told["status"] === "deploying")
    return language === "ja"
      ? `${service}のデプロイを始めました。完了の報告が届いたらお知らせします。`
      : `The deployment of ${service} has begun. I'll tell you what came of it when it is reported.`;
  // What a person said about a deployment that did not report.
  if (typeof told["result"] === "string")
    return language === "ja"
      ? `${service}のデプロイは完了していました：${withFullStop(told["result"], language)}`
      : `The deployment of ${service} went through: ${withFullStop(told["result"], language)}`;
  const environment = toWords(told["environment"]);
  return language === "ja"
    ? `${service}は${environment}で稼働しています。`
    : `${capitalise(service)} is live in ${environment}.`;
}

/** A list of values for which there is no sentence. */
function list(values: Values): string {
  return Object.entries(values)
    .filter(([, value]) => ["string", "number", "boolean"].includes(typeof value))
    .map(([key, value]) => `${key} ${toWords(value)}`)
    .join(", ");
}

function capitalise(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}

function withFullStop(sentence: string, language: Language): string {
  const said = normalise(sentence);
  return said === "" || /[.!?。]$/u.test(said) ? said : `${said}${language === "ja" ? "。" : "."}`;
}
