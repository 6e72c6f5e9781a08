import type { CardState } from "adk-stream-protocol/client";
import type { ErrorCode } from "adk-stream-protocol/protocol";

import { type ChatStrings, chatStrings } from "./chat-strings.ts";
import type { Mode } from "./mode.ts";
import { type PanelStrings, panelStrings } from "./panel-strings.ts";
import type { Stop } from "./track.ts";

/** Every text of the page in each language. Texts of the assistant and of the tools are not here. */
export interface Strings {
  languageName: string;
  panel: PanelStrings;
  chats: ChatStrings;
  scriptedModel: string;
  modelLabel: string;
  modeLabel: string;
  modeTitles: Record<Mode, string>;
  modeBusy: string;
  languageLabel: string;
  themeLabel: string;
  themes: { auto: string; light: string; dark: string };
  newChat: string;
  views: string;
  chatTab: string;
  panelTab: string;
  /** The same for servers without a wallet. */
  eventsTab: string;
  eventsLabel: string;
  panelLabel: string;
  emptyTitle: string;
  emptyText: string;
  suggestionsLabel: string;
  suggestions: string[];
  composerLabel: string;
  composerPlaceholder: string;
  send: string;
  stop: string;
  cancelsPending: (count: number) => string;
  keepsPending: (count: number) => string;
  heldBack: string;
  conversation: string;
  you: string;
  assistant: string;
  thinking: string;
  thoughts: string;
  loading: string;
  loadFailed: string;
  retry: string;
  dismiss: string;
  errorTitle: string;
  connectionLost: string;
  offline: string;
  signedOut: string;
  deleted: string;
  result: string;
  tags: Record<CardState, string>;
  /** Notes for a browser tool's call that was approved and then expired or was cancelled. */
  begun: Partial<Record<CardState, string>>;
  error: string;
  announceReply: string;
  wallet: string;
  balance: string;
  noPayments: string;
  payments: string;
  approvals: string;
  noApprovals: string;
  track: Record<Stop, string>;
  /** What the last stop of an approval is called while it waits for a person. */
  waitsForYou: string;
  branches: { denied: string; expired: string; cancelled: string; failed: string; unknown: string };
  stream: string;
  streamEmpty: string;
  streamResumed: string;
  streamConnected: string;
  streamLost: string;
  streamParked: string;
  newest: string;
  nowPlaying: (track: number) => string;
  silent: (track: number) => string;
  stopMusic: string;
  toolRunning: string;
  toolFailed: string;
  toolDetails: (tool: string) => string;
  arguments: string;
  sources: string;
  file: string;
  image: string;
  /** What a card and the bar above the composer say about a call. */
  card: {
    /** A word or a title together with the words that name a call. */
    named: (before: string, words: string) => string;
    waiting: (count: number) => string;
    show: string;
    latest: string;
    announcements: string;
  };
  /** What a message says that could not be sent. */
  unsent: { notSent: string; again: string; remove: string };
  /** What is shown with a reply beside its text. */
  reply: {
    tokens: (input: number, output: number) => string;
    code: (language: string) => string;
    codeResult: string;
    codeFailed: string;
  };
  shortcuts: { title: string; keys: readonly (readonly [key: string, meaning: string])[]; on: string; close: string };
  /** What to say when the server refuses. Without an entry the server's own sentence is shown. */
  serverErrors: Readonly<Partial<Record<ErrorCode, string>>>;
  /** Sentences of the server, as patterns, and their translations with `$1` for the first group. */
  serverSentences: readonly (readonly [pattern: RegExp, translated: string])[];
}

const en: Strings = {
  panel: panelStrings.en,
  chats: chatStrings.en,
  languageName: "EN",
  scriptedModel: "scripted Gemini",
  modelLabel: "Model",
  modeLabel: "Mode",
  modeTitles: {
    sse: "SSE: one request per message, streamed back as server-sent events",
    bidi: "BIDI: one WebSocket for everything, over Gemini Live",
  },
  modeBusy: "The mode can be changed when the reply has ended.",
  languageLabel: "Language",
  themeLabel: "Theme",
  themes: { auto: "Automatic", light: "Light", dark: "Dark" },
  newChat: "New chat",
  views: "Views",
  chatTab: "Chat",
  panelTab: "Wallet",
  eventsTab: "Events",
  eventsLabel: "Approvals, events and state",
  panelLabel: "Wallet, approvals and stream",
  emptyTitle: "It asks before it pays.",
  emptyText:
    "Ask for a payment and you will see the exact call. Nothing is sent until you approve it, and an approved call runs once.",
  suggestionsLabel: "Suggestions",
  suggestions: [
    "Send 50 dollars to Hanako",
    "Send 30 dollars to Alice and 40 to Bob",
    "Deploy the shop",
    "What is the weather in Tokyo?",
    "Where am I?",
    "Play track 2",
  ],
  composerLabel: "Message",
  composerPlaceholder: "Message…",
  send: "Send",
  stop: "Stop",
  cancelsPending: (count) =>
    count > 1
      ? `Sending a message withdraws the ${count} requests that wait for you.`
      : "Sending a message withdraws the request that waits for you.",
  keepsPending: (count) =>
    count > 1 ? `The ${count} requests that wait for you stay open.` : "The request that waits for you stays open.",
  heldBack: "This message is sent when the reply has ended. Press Esc to keep it here.",
  conversation: "Conversation",
  you: "You",
  assistant: "Assistant",
  thinking: "Thinking",
  thoughts: "Thoughts",
  loading: "Loading the conversation",
  loadFailed: "The conversation could not be loaded.",
  retry: "Try again",
  dismiss: "Dismiss",
  errorTitle: "That did not work",
  connectionLost: "The connection was lost.",
  offline: "The server cannot be reached. Trying again…",
  signedOut: "You are signed out. Sign in again, then reload this page.",
  deleted: "This chat was deleted elsewhere. A message begins a new one.",
  result: "Result",
  tags: {
    asked: "waiting for you",
    sending: "sending your answer",
    unsent: "not confirmed",
    approved: "approved",
    running: "running",
    waiting: "waiting for a report",
    done: "done",
    failed: "failed",
    denied: "denied",
    expired: "expired",
    cancelled: "withdrawn",
    unknown: "outcome unknown",
  },
  begun: {
    waiting: "Approved. The browser in which it was approved has not reported a result yet.",
    expired: "No result came in time. The tool may have run in a browser.",
    cancelled: "Withdrawn before its result came. The tool may have run in a browser.",
  },
  error: "Error",
  announceReply: "The assistant has replied.",
  wallet: "Wallet",
  balance: "Balance",
  noPayments: "No payments yet.",
  payments: "Payments",
  approvals: "Approvals",
  noApprovals: "Each request for approval is drawn here, from the question to the outcome.",
  track: { asked: "asked", approved: "approved", running: "running", waiting: "waiting", done: "done" },
  waitsForYou: "waiting for you",
  branches: { denied: "denied", expired: "expired", cancelled: "withdrawn", failed: "failed", unknown: "unknown" },
  stream: "Events",
  streamEmpty: "The raw chunks appear here as they arrive.",
  streamResumed: "resumed",
  streamConnected: "connected",
  streamLost: "lost",
  streamParked: "waiting for an answer",
  newest: "Newest",
  nowPlaying: (track) => `Playing track ${track}`,
  silent: (track) => `Track ${track} plays after a click`,
  stopMusic: "Stop the music",
  toolRunning: "running…",
  toolFailed: "failed",
  toolDetails: (tool) => `Details of ${tool}`,
  arguments: "Arguments",
  sources: "Sources",
  file: "File",
  image: "Image from the assistant",
  card: {
    named: (before, words) => (words === "" ? before : `${before} ${words}`),
    waiting: (count) => (count === 1 ? "1 waits:" : `${count} wait:`),
    show: "Show",
    latest: "Jump to latest",
    announcements: "Announcements",
  },
  unsent: { notSent: "Not sent", again: "Try again", remove: "Remove" },
  reply: {
    tokens: (input, output) => `${input.toLocaleString("en-US")} tokens in, ${output.toLocaleString("en-US")} out`,
    code: (language) => (language === "" ? "Code that the model ran" : `Code that the model ran (${language})`),
    codeResult: "Output of the code",
    codeFailed: "The code failed",
  },
  shortcuts: {
    title: "Keyboard shortcuts",
    keys: [
      ["Esc", "stop the reply; or leave the message field"],
      ["/", "go to the message field"],
      ["w", "go to the next card that waits for you"],
      ["a", "on a card: go to Approve"],
      ["d", "on a card: go to Deny"],
      ["l", "jump to the latest message"],
      ["Home", "in the conversation: load all messages and go to the first one"],
      ["?", "show this list"],
    ],
    on: "Single-key shortcuts are on",
    close: "Close",
  },
  serverErrors: {},
  serverSentences: [],
};

const ja: Strings = {
  panel: panelStrings.ja,
  chats: chatStrings.ja,
  languageName: "日本語",
  scriptedModel: "デモ用 Gemini（固定応答）",
  modelLabel: "モデル",
  modeLabel: "モード",
  modeTitles: {
    sse: "SSE: メッセージごとに1リクエスト、server-sent events で受信",
    bidi: "BIDI: すべてを1本の WebSocket で、Gemini Live 経由",
  },
  modeBusy: "モードは応答が終わってから切り替えられます。",
  languageLabel: "言語",
  themeLabel: "テーマ",
  themes: { auto: "自動", light: "ライト", dark: "ダーク" },
  newChat: "新しいチャット",
  views: "表示",
  chatTab: "チャット",
  panelTab: "残高",
  eventsTab: "イベント",
  eventsLabel: "承認、イベント、状態",
  panelLabel: "残高・承認・ストリーム",
  emptyTitle: "支払う前に、必ず確認します。",
  emptyText:
    "送金を頼むと、実行される内容がそのまま表示されます。承認するまで何も送られず、承認した呼び出しは一度だけ実行されます。",
  suggestionsLabel: "入力例",
  suggestions: [
    "花子さんに50ドル送金してください",
    "アリスに30ドル、ボブに40ドル送金してください",
    "ショップをデプロイして",
    "東京の天気は？",
    "現在地を教えて",
    "BGMをトラック2に変えて",
  ],
  composerLabel: "メッセージ",
  composerPlaceholder: "メッセージを入力…",
  send: "送信",
  stop: "停止",
  cancelsPending: (count) =>
    count > 1
      ? `送信すると、承認待ちの依頼${count}件がすべて取り下げられます。`
      : "送信すると、承認待ちの依頼は取り下げられます。",
  keepsPending: (count) =>
    count > 1 ? `承認待ちの依頼${count}件はそのまま残ります。` : "承認待ちの依頼はそのまま残ります。",
  heldBack: "応答が終わりしだい送信します。Escで取り消せます。",
  conversation: "会話",
  you: "あなた",
  assistant: "アシスタント",
  thinking: "考えています",
  thoughts: "思考",
  loading: "会話を読み込んでいます",
  loadFailed: "会話を読み込めませんでした。",
  retry: "再試行",
  dismiss: "閉じる",
  errorTitle: "うまくいきませんでした",
  connectionLost: "接続が切れました。",
  offline: "サーバーに接続できません。再接続しています…",
  signedOut: "サインアウトされています。もう一度サインインして、ページを再読み込みしてください。",
  deleted: "このチャットは別の場所で削除されました。メッセージを送ると、新しく始まります。",
  result: "結果",
  tags: {
    asked: "承認待ち",
    sending: "回答を送信中",
    unsent: "未確認",
    approved: "承認済み",
    running: "実行中",
    waiting: "報告待ち",
    done: "完了",
    failed: "失敗",
    denied: "拒否",
    expired: "期限切れ",
    cancelled: "取り下げ",
    unknown: "結果不明",
  },
  begun: {
    waiting: "承認済みです。承認したブラウザーからの結果を待っています。",
    expired: "期限内に結果が届きませんでした。ブラウザーで実行された可能性があります。",
    cancelled: "結果が届く前に取り下げられました。ブラウザーで実行された可能性があります。",
  },
  error: "エラー",
  announceReply: "アシスタントが応答しました。",
  wallet: "ウォレット",
  balance: "残高",
  noPayments: "送金はまだありません。",
  payments: "送金履歴",
  approvals: "承認",
  noApprovals: "承認の依頼ごとに、依頼から結果までの経過をここに表示します。",
  track: { asked: "依頼", approved: "承認", running: "実行", waiting: "報告待ち", done: "完了" },
  waitsForYou: "承認待ち",
  branches: { denied: "拒否", expired: "期限切れ", cancelled: "取り下げ", failed: "失敗", unknown: "不明" },
  stream: "イベント",
  streamEmpty: "届いたチャンクをそのまま表示します。",
  streamResumed: "再開",
  streamConnected: "接続",
  streamLost: "切断",
  streamParked: "回答待ち",
  newest: "最新へ",
  nowPlaying: (track) => `トラック ${track} を再生中`,
  silent: (track) => `クリックするとトラック ${track} が鳴ります`,
  stopMusic: "音楽を止める",
  toolRunning: "実行中…",
  toolFailed: "失敗",
  toolDetails: (tool) => `${tool} の詳細`,
  arguments: "引数",
  sources: "出典",
  file: "ファイル",
  image: "アシスタントからの画像",
  card: {
    named: (before, words) => (words === "" ? before : `${before} ${words}`),
    waiting: (count) => `承認待ち${count}件:`,
    show: "表示",
    latest: "最新へ移動",
    announcements: "お知らせ",
  },
  unsent: { notSent: "未送信", again: "再試行", remove: "削除" },
  reply: {
    tokens: (input, output) => `入力 ${input.toLocaleString("ja-JP")}・出力 ${output.toLocaleString("ja-JP")} トークン`,
    code: (language) => (language === "" ? "モデルが実行したコード" : `モデルが実行したコード（${language}）`),
    codeResult: "コードの出力",
    codeFailed: "コードの実行に失敗しました",
  },
  shortcuts: {
    title: "キーボードショートカット",
    keys: [
      ["Esc", "応答を停止する。または入力欄から離れる"],
      ["/", "入力欄へ移動"],
      ["w", "次の承認待ちカードへ移動"],
      ["a", "カード上で「承認」ボタンへ移動"],
      ["d", "カード上で「拒否」ボタンへ移動"],
      ["l", "最新のメッセージへ移動"],
      ["Home", "会話の上で: すべてのメッセージを読み込んで最初へ移動"],
      ["?", "この一覧を表示"],
    ],
    on: "1文字のショートカットを使う",
    close: "閉じる",
  },
  serverErrors: {
    malformed: "送信したデータの形式が正しくありません。",
    invalid: "送信した内容をサーバーが受け付けませんでした。",
    unauthenticated: "サインインが必要です。",
    forbidden: "この操作は許可されていません。",
    not_found: "対象が見つからないか、操作する権限がありません。",
    method_not_allowed: "この操作には対応していません。",
    conflict: "ほかの変更が先に行われたため、受け付けられませんでした。",
    too_large: "送信した内容が大きすぎます。",
    unsupported_media_type: "この形式のデータには対応していません。",
    too_many: "リクエストが多すぎます。しばらく待ってから、もう一度お試しください。",
    internal: "サーバーで問題が発生しました。",
    unavailable: "サーバーを一時的に利用できません。しばらく待ってから、もう一度お試しください。",
  },
  serverSentences: [
    [
      /^The server stopped in the middle of this reply\. Please send your message again\.$/,
      "応答の途中でサーバーが停止しました。メッセージをもう一度送ってください。",
    ],
    [/^The reply does not go on\.$/, "応答が途中で止まっています。"],
    [/^This chat was deleted\.$/, "このチャットは削除されました。"],
    [/^The server stopped in the middle of this reply\.$/, "応答の途中でサーバーが停止しました。"],
    [
      /^The model is over its quota or rate limit \(429\)(?:: |\.)(.*)$/s,
      "モデルの利用上限に達しました（429）。しばらく待ってから、もう一度お試しください。$1",
    ],
    [/^The model returned an error \(([^)]*)\)(?:: |\.)(.*)$/s, "モデルでエラーが発生しました（$1）。$2"],
    [
      /^The model returned nothing\..*$/s,
      "モデルから応答がありませんでした。安全フィルターでブロックされた可能性があります。",
    ],
    [/^The model returned nothing \(([^)]*)\)(?:: |\.)(.*)$/s, "モデルから応答がありませんでした（$1）。$2"],
    [
      /^Something went wrong on the server\..*$/s,
      "サーバーで問題が発生しました。詳細はサーバーのログに記録されています。",
    ],
  ],
};

export const strings = { en, ja };
export type Language = keyof typeof strings;
