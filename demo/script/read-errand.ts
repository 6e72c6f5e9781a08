import { languageOf, toNumber } from "./words.ts";

/** A call of one of the sample tools. */
export interface Errand {
  readonly tool: "send_email" | "run_command" | "update_settings" | "export_report" | "charge_card" | "book_seat";
  readonly args: Readonly<Record<string, unknown>>;
}

/** The errand that a message asks for, if any. A question or a refusal asks for none. */
export function readErrand(text: string): Errand | undefined {
  if (notARequest.test(text)) return undefined;
  for (const read of readers) {
    const errand = read(text);
    if (errand) return errand;
  }
  return undefined;
}

const notARequest = /\b(?:don['’]?t|do not|did you|have you|never|why)\b|ないで(?!す|しょ)|やめて|ましたか/iu;

const readers = [readEmail, readCommand, readSettings, readReport, readCharge, readSeat];

const englishEmail =
  /\be-?mail\s+(?:to\s+)?(?<name>\p{L}[\p{L}'’-]{0,40})(?:\s+(?:about|regarding)\s+(?<topic>[^.!?]{1,120}))?/iu;
const japaneseEmail =
  /(?<name>[^\s、。「」]{1,20}?)(?:さん|様)?(?:に|へ)[、\s]*(?:(?<topic>[^、。]{1,60}?)(?:について|の件で?)(?:の|、)?)?(?:確認の|お知らせの)?(?:メール|e-?mail)/iu;

const mailboxes: Readonly<Record<string, string>> = { 花子: "hanako", 太郎: "taro", アリス: "alice", ボブ: "bob" };

function readEmail(text: string): Errand | undefined {
  const isJapanese = languageOf(text) === "ja";
  const { name, topic } = (isJapanese ? japaneseEmail : englishEmail).exec(text)?.groups ?? {};
  if (name === undefined) return undefined;
  const mailbox = /^[a-z]+$/i.test(name) ? name.toLowerCase() : (mailboxes[name] ?? "contact");
  const about = topic?.trim() ?? (isJapanese ? "ご連絡" : "our call");
  const email = isJapanese
    ? {
        subject: `${about}について`,
        body: `${name}様\n\nお世話になっております。\n${about}についてご相談があります。今週中に30分ほどお時間をいただけますでしょうか。\n\nよろしくお願いいたします。`,
      }
    : {
        subject: `About ${about}`,
        body: `Hello ${name},\n\nI would like to talk with you about ${about}. Do you have half an hour this week?\n\nBest regards`,
      };
  return { tool: "send_email", args: { to: [`${mailbox}@example.com`], ...email } };
}

const quoted = '[`“"「『](?<command>[^`“”"「」『』]{1,200})[`”"」』]';
const englishCommand = new RegExp(String.raw`\b(?:run|execute)\s+(?:the\s+)?(?:command\s+)?${quoted}`, "iu");
const japaneseCommand = new RegExp(`${quoted}\\s*(?:コマンド)?を?(?:実行|走ら)`, "iu");

function readCommand(text: string): Errand | undefined {
  const command = (englishCommand.exec(text) ?? japaneseCommand.exec(text))?.groups?.["command"];
  return command === undefined ? undefined : { tool: "run_command", args: { command } };
}

const englishScale = /\bscale\s+(?:the\s+)?(?<service>[\w-]{1,40})\s+to\s+(?<replicas>\d{1,3})\b/iu;
const japaneseScale = /(?<service>[^\s、。]{1,20}?)を(?<replicas>\d{1,3})台に(?:増|減|スケール|し)/u;

function readSettings(text: string): Errand | undefined {
  const { service, replicas } = (englishScale.exec(text) ?? japaneseScale.exec(text))?.groups ?? {};
  if (service === undefined) return undefined;
  const settings = {
    replicas: Number(replicas),
    limits: { cpu: "500m", memory: "512Mi" },
    rollout: {
      strategy: "gradual",
      steps: [
        { percent: 10, wait: "5m" },
        { percent: 100, wait: "0s" },
      ],
    },
  };
  return { tool: "update_settings", args: { service, settings } };
}

const months = "january|february|march|april|may|june|july|august|september|october|november|december";
const englishReport = new RegExp(
  String.raw`\bexport\b.{0,40}?\b(?<report>\w{1,30})\s+(?:report|list|data)\b(?:.{0,20}?\b(?<month>${months})\b)?`,
  "iu",
);
const japaneseReport =
  /(?:(?<month>\d{1,2}月)の)?(?<report>顧客|売上)(?:の)?(?:レポート|一覧|データ).{0,6}(?:書き出|エクスポート|出力)/u;

function readReport(text: string): Errand | undefined {
  const { report, month } = (englishReport.exec(text) ?? japaneseReport.exec(text))?.groups ?? {};
  if (report === undefined) return undefined;
  const fallback = languageOf(text) === "ja" ? "10月" : "October";
  return { tool: "export_report", args: { report, month: month ?? fallback } };
}

const englishCharge = /\bcharge\b.{0,40}?\bcard\b.{0,20}?\$?(?<amount>\d{1,6}(?:\.\d{1,2})?)/iu;
const japaneseCharge = /カード(?:に|へ|で).{0,6}?(?<amount>\d{1,6}(?:\.\d{1,2})?)\s*(?:ドル|\$).{0,4}請求/u;

function readCharge(text: string): Errand | undefined {
  const amount = (englishCharge.exec(text) ?? japaneseCharge.exec(text))?.groups?.["amount"];
  if (amount === undefined) return undefined;
  return { tool: "charge_card", args: { amount: toNumber(amount), currency: "USD", card: "•••• 0002" } };
}

const englishSeat = /\b(?:book|reserve)\s+(?:the\s+)?seat\s+(?<seat>\d{1,2}[a-k])\b/iu;
const japaneseSeat = /(?:座席|席)\s*(?<seat>\d{1,2}[a-k])\s*を?(?:予約|取|とって)/iu;

function readSeat(text: string): Errand | undefined {
  const seat = (englishSeat.exec(text) ?? japaneseSeat.exec(text))?.groups?.["seat"];
  return seat === undefined ? undefined : { tool: "book_seat", args: { seat: seat.toUpperCase() } };
}
