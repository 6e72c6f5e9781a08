import { call, text, thought, type Ask, type Piece, type Rule } from "adk-stream-protocol/testing";
import { errandWords } from "./errand-words.ts";
import { readRequest, type DemoRequest } from "./read-request.ts";
import { formatMoney, readLateOutcomes, describeOutcome } from "./describe-outcome.ts";
import { languageOf, normalise, toWords, type Language } from "./words.ts";

/** The script of the demo's model. It understands English and Japanese, calls the demo's tools and reports results. */
export const demoRules: readonly Rule[] = [
  { when: (ask) => !ask.fresh && describeOutcomes(ask).length > 0, say: describeOutcomes },
  { when: isRequest, say: (ask) => [...describeOutcomes(ask), ...fulfil(ask)] },
  chat(/\b(?:help|what can you do|who are you)\b|ヘルプ|使い方|何ができ|なにができ|助けて/iu, {
    en: "I can send money (“Send 50 dollars to Hanako”), tell the weather (“Weather in Tokyo?”), find out where you are, change the music, deploy a service, and write emails. Nothing is paid, sent or deployed before you approve it.",
    ja: "送金（「花子さんに50ドル送金してください」）、天気（「東京の天気は？」）、現在地の確認、音楽の切り替え、デプロイ、メールの作成ができます。承認されるまで、送金・送信・デプロイは行いません。",
  }),
  chat(/^\W*(?:hi|hello|hey|good (?:morning|afternoon|evening))\b|こんにちは|こんばんは|おはよう|はじめまして|やあ/iu, {
    en: "Hello! I can send money, tell the weather, find out where you are and change the music. What shall I do?",
    ja: "こんにちは！送金、天気、現在地の確認、音楽の切り替えができます。何をしましょうか？",
  }),
  chat(/\bthank(?:s| you)\b|ありがとう/iu, {
    en: "You are welcome! Is there anything else?",
    ja: "どういたしまして！ほかに何かありますか？",
  }),
  { say: (ask) => [...describeOutcomes(ask), text(smallTalk(ask))] },
];

type Sentence = Readonly<Record<Language, string>>;

function chat(when: RegExp, sentence: Sentence): Rule {
  return { when, say: (ask) => [...describeOutcomes(ask), text(sentence[languageOf(ask.text)])] };
}

/** The outcomes since the model's last turn. New text can come with some, because it cancels calls that wait. */
function describeOutcomes(ask: Ask): Piece[] {
  const language = languageOf(ask.text);
  const space = language === "ja" ? "" : " ";
  const outcomes = [...ask.responses, ...readLateOutcomes(ask.contents)];
  const sentences = outcomes.map((outcome) => describeOutcome(outcome, language)).join(space);
  if (sentences === "") return [];
  return [text(ask.fresh ? `${sentences}${space}` : sentences)];
}

function isRequest(ask: Ask): boolean {
  if (!ask.fresh) return false;
  return toCalls(readRequest(ask.text), ask).length > 0 || readRequest(ask.text).unclear !== undefined;
}

interface DemoCall {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** The calls for a request. Those that need no approval come first, so that they start first. */
function toCalls(request: DemoRequest, { contents }: Ask): DemoCall[] {
  const { places, track, location, payments, service, errand } = request;
  return [
    ...places.map((place) => ({ tool: "get_weather", args: { location: place } })),
    ...(track === undefined ? [] : [{ tool: "change_bgm", args: { track: chooseTrack(track, contents) } }]),
    ...(location ? [{ tool: "get_location", args: {} }] : []),
    ...payments.map(({ description, ...payment }) => ({
      tool: "process_payment",
      args: { ...payment, currency: "USD", ...(description !== undefined && { description }) },
    })),
    ...(service === undefined ? [] : [{ tool: "deploy", args: { service } }]),
    ...(errand === undefined ? [] : [errand]),
  ];
}

function fulfil(ask: Ask): Piece[] {
  const language = languageOf(ask.text);
  const request = readRequest(ask.text);
  const calls = toCalls(request, ask);
  const possible = calls.filter(({ tool }) => ask.toolNames.includes(tool));
  // Some pages send the result of a browser tool by themselves only if the message has no text.
  const isSilent = possible.some(({ tool }) => browserTools.has(tool));
  const announced = [...new Set(possible.map(({ tool }) => tool))];
  const sentences = [
    ...(isSilent ? [] : announced.map((tool) => announce(tool, possible, language))),
    ...(possible.length < calls.length ? [noTool[language]] : []),
    ...(request.unclear === undefined ? [] : [askBack[request.unclear][language]]),
  ];
  return [
    ...think(possible, language),
    ...(sentences.length === 0 ? [] : [text(sentences.join(language === "ja" ? "" : " "))]),
    ...possible.map(({ tool, args }) => call(tool, args)),
  ];
}

function think(calls: readonly DemoCall[], language: Language): Piece[] {
  const payments = calls.filter(({ tool }) => tool === "process_payment");
  if (payments.length === 0) return [];
  const wishes = payments.map(({ args }) => {
    const sum = formatMoney(args["amount"], args["currency"], language);
    const to = toWords(args["recipient"]);
    return language === "ja" ? `${to}さんに${sum}` : `${sum} to ${to}`;
  });
  return [
    thought(
      language === "ja"
        ? `${wishes.join("、")}の送金を頼まれている。送金には承認が必要なので、呼び出して決定を待つ。`
        : `The user wants to pay ${wishes.join(" and ")}. Payments need approval, so I call the tool and wait for the decision.`,
    ),
  ];
}

/** The tools that run in the user's browser. */
const browserTools: ReadonlySet<string> = new Set(["change_bgm", "get_location"]);

const announcements: Readonly<Record<string, { one: Sentence; many?: Sentence }>> = {
  get_weather: {
    one: { en: "Let me check the weather.", ja: "天気を調べます。" },
    many: { en: "Let me check the weather in each place.", ja: "それぞれの天気を調べます。" },
  },
  process_payment: {
    one: {
      en: "I'll prepare the payment. It needs your approval before anything is sent.",
      ja: "送金を準備します。承認されるまで何も送られません。",
    },
    many: {
      en: "I'll prepare the payments. Each needs your approval before anything is sent.",
      ja: "送金を準備します。それぞれ承認されるまで何も送られません。",
    },
  },
  deploy: {
    one: {
      en: "I'll prepare the deployment. It needs your approval, and then takes a while.",
      ja: "デプロイを準備します。承認が必要です。承認後、完了まで少しかかります。",
    },
  },
};

function announce(tool: string, calls: readonly DemoCall[], language: Language): string {
  const said = announcements[tool];
  const several = calls.filter((made) => made.tool === tool).length > 1;
  return ((several ? said?.many : undefined) ?? said?.one)?.[language] ?? errandWords(tool, language)?.announce ?? "";
}

const noTool: Sentence = {
  en: "I have no tool for that here.",
  ja: "ここではそのためのツールがありません。",
};

const askBack: Readonly<Record<NonNullable<DemoRequest["unclear"]>, Sentence>> = {
  payment: {
    en: "How much shall I send, and to whom? For example: “Send 50 dollars to Hanako”.",
    ja: "いくらを、どなたに送りますか？例：「花子さんに50ドル送金してください」",
  },
  currency: {
    en: "This wallet holds US dollars only. How many dollars shall I send?",
    ja: "このウォレットで送れるのは米ドルだけです。何ドル送りますか？",
  },
  place: {
    en: "For which place? For example: “Weather in Tokyo?”",
    ja: "どこの天気ですか？例：「東京の天気は？」",
  },
};

/** The named track, or the one that was not played last. */
function chooseTrack(track: number | "another", contents: Ask["contents"]): number {
  if (track !== "another") return track;
  const played = contents
    .flatMap((turn) => turn.parts ?? [])
    .findLast((part) => part.functionCall?.name === "change_bgm")?.functionCall?.args?.["track"];
  return played === 1 ? 2 : 1;
}

function smallTalk({ text: said, fresh }: Ask): string {
  const quote = normalise(said);
  const short = quote.length > 60 ? `${quote.slice(0, 60)}…` : quote;
  if (languageOf(said) === "ja") {
    if (!fresh) return "ほかに何かありますか？";
    return `「${short}」ですね。送金や天気、現在地、音楽のことならお手伝いできます。`;
  }
  if (!fresh) return "Is there anything else I can do?";
  if (short === "") return "Thank you. I can only read text here. What shall I do with it?";
  return `You said “${short}”. I'm a small scripted model: ask me to send money, for the weather, where you are, or for music.`;
}
