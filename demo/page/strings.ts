import type { ApprovalState, ErrorCode } from "adk-stream-protocol/protocol";
import type { CardState } from "./card-state.ts";
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
  connectionLabel: string;
  connection: {
    connecting: string;
    open: string;
    reconnecting: string;
    offline: string;
    signedOut: string;
  };
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
  approve: string;
  deny: string;
  denyNow: string;
  back: string;
  reasonPlaceholder: string;
  assistantSays: [before: string, after: string];
  empty: string;
  yes: string;
  no: string;
  highRisk: string;
  mixedScripts: (scripts: string) => string;
  lookAlikes: (script: string) => string;
  /** Names of scripts and of forms of letters, where they are not the English ones. */
  scripts: Readonly<Record<string, string>>;
  exactCall: string;
  runsAs: string;
  modelSent: string;
  result: string;
  digest: string;
  expiresIn: (time: string) => string;
  expiring: string;
  cardLabel: (tool: string) => string;
  tags: Record<CardState, string>;
  paid: string;
  notes: Record<CardState, string>;
  /** Notes for a browser tool's call that was approved and then expired or was cancelled. */
  begun: Partial<Record<CardState, string>>;
  waitsUntil: (time: string) => string;
  unreported: string;
  askedBy: string;
  /** Around the name of the person who did something. */
  by: [before: string, after: string];
  approvedAt: (time: string) => string;
  deniedAt: (time: string) => string;
  ranOnce: string;
  runsHere: string;
  reason: string;
  error: string;
  status: string;
  /** The states of an approval in a sentence. */
  states: Record<ApprovalState, string>;
  resolution: {
    question: string;
    happened: string;
    not: string;
    happenedForm: { label: string; placeholder: string; submit: string };
    notForm: { label: string; placeholder: string; submit: string };
    sending: string;
    didHappen: string;
    didNotHappen: string;
    notTag: string;
    already: (state: string) => string;
    missing: string;
    unreachable: string;
  };
  transaction: string;
  announceAsked: (tool: string) => string;
  announceState: (tool: string, state: string) => string;
  announceReply: string;
  announceLost: string;
  announceFound: string;
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
    showAllCharacters: (count: number) => string;
    showAllArguments: (count: number) => string;
    hint: string;
    unseen: string;
    showRest: string;
    reasonLabel: string;
    reasonHint: string;
    unsentReason: string;
    /** Around the answer that the server has not confirmed. */
    unconfirmed: [before: string, after: string];
    sending: (approved: boolean) => string;
    sendAgain: (approved: boolean) => string;
    waiting: (count: number) => string;
    show: string;
    latest: string;
    announcements: string;
    announceExpiry: (name: string) => string;
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
  connectionLabel: "Connection",
  connection: {
    connecting: "connecting",
    open: "connected",
    reconnecting: "reconnecting",
    offline: "offline",
    signedOut: "signed out",
  },
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
  approve: "Approve",
  deny: "Deny…",
  denyNow: "Deny",
  back: "Back",
  reasonPlaceholder: "e.g. wrong amount",
  assistantSays: ["The assistant says: “", "”"],
  empty: "empty",
  yes: "yes",
  no: "no",
  highRisk: "high risk",
  mixedScripts: (scripts) => `mixes ${scripts} letters`,
  lookAlikes: (script) => `written in ${script} letters`,
  scripts: { Canadian: "Canadian syllabic" },
  exactCall: "Exact call",
  runsAs: "What runs",
  modelSent: "What the model sent",
  result: "Result",
  digest: "digest",
  expiresIn: (time) => `expires in ${time}`,
  expiring: "expiring…",
  cardLabel: (tool) => `Approval of ${tool}`,
  tags: {
    asked: "waiting for you",
    sending: "sending your answer",
    undelivered: "not confirmed",
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
  paid: "paid",
  notes: {
    asked: "Nothing happens until you decide.",
    sending: "The server has not confirmed your answer yet.",
    undelivered: "The server has not confirmed your answer. Sending it again cannot run the tool twice.",
    approved: "The server has your approval. The tool starts next.",
    running: "The tool is running.",
    waiting: "Begun, waiting for a report.",
    done: "The tool ran.",
    failed: "The tool ran and failed.",
    denied: "The tool was not run.",
    expired: "No one answered in time. The tool was not run.",
    cancelled: "The request was withdrawn. The tool was not run.",
    unknown: "The server stopped while the tool ran. It may have taken effect.",
  },
  begun: {
    waiting: "Approved. The browser in which it was approved has not reported a result yet.",
    expired: "No result came in time. The tool may have run in a browser.",
    cancelled: "Withdrawn before its result came. The tool may have run in a browser.",
  },
  waitsUntil: (time) => `Begun, waiting for a report until ${time}.`,
  unreported: "No report came in time. It may have taken effect.",
  askedBy: "Asked by",
  by: [" by ", ""],
  approvedAt: (time) => `Approved ${time}`,
  deniedAt: (time) => `Denied ${time}`,
  ranOnce: "ran once",
  runsHere: "Running in this page…",
  reason: "Reason",
  error: "Error",
  status: "Status",
  states: {
    pending: "waiting for an answer",
    approved: "approved",
    executing: "running",
    waiting: "waiting for a report",
    succeeded: "done",
    failed: "failed",
    denied: "denied",
    expired: "expired",
    cancelled: "withdrawn",
    indeterminate: "unknown",
  },
  resolution: {
    question: "Check what really happened, then say so. The assistant will be told.",
    happened: "It happened…",
    not: "It did not happen…",
    happenedForm: {
      label: "What came of it (optional, text or JSON, the assistant will read it)",
      placeholder: "e.g. the receipt is in the list",
      submit: "It happened",
    },
    notForm: {
      label: "How you know (optional, the assistant will read it)",
      placeholder: "e.g. it is not in the list",
      submit: "It did not happen",
    },
    sending: "Saving…",
    didHappen: "Checked: it happened",
    didNotHappen: "Checked: it did not happen",
    notTag: "did not happen",
    already: (state) => `The state is known already: ${state}.`,
    missing: "The server does not know this call, or you may not decide about it.",
    unreachable: "The server did not record it. Try again.",
  },
  transaction: "Transaction",
  announceAsked: (tool) => `${tool} is waiting for your approval.`,
  announceState: (tool, state) => `${tool}: ${state}.`,
  announceReply: "The assistant has replied.",
  announceLost: "The connection is lost. Reconnecting.",
  announceFound: "The connection is back.",
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
    showAllCharacters: (count) => `Show all ${count.toLocaleString("en-US")} characters`,
    showAllArguments: (count) => `Show all ${count.toLocaleString("en-US")} arguments`,
    hint: "About this call",
    unseen: "You can approve after you have seen the whole call.",
    showRest: "Show the rest",
    reasonLabel: "Reason",
    reasonHint: "optional, the assistant will read it",
    unsentReason: "You were writing this reason. It was not sent:",
    unconfirmed: ["Your ", " is not confirmed. It is sent again when the server can be reached, and counts once."],
    sending: (approved) => (approved ? "sending Approve" : "sending Deny"),
    sendAgain: (approved) => (approved ? "Send Approve again" : "Send Deny again"),
    waiting: (count) => (count === 1 ? "1 waits:" : `${count} wait:`),
    show: "Show",
    latest: "Jump to latest",
    announcements: "Announcements",
    announceExpiry: (name) => `${name} expires in less than a minute.`,
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
    sse: "SSE: メッセージごとに 1 リクエスト、server-sent events で受信",
    bidi: "BIDI: すべてを 1 本の WebSocket で、Gemini Live 経由",
  },
  modeBusy: "モードは応答が終わってから切り替えられます。",
  connectionLabel: "接続",
  connection: {
    connecting: "接続中",
    open: "接続済み",
    reconnecting: "再接続中",
    offline: "オフライン",
    signedOut: "サインアウト",
  },
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
  signedOut: "サインアウトしました。もう一度サインインして、ページを再読み込みしてください。",
  approve: "承認",
  deny: "拒否…",
  denyNow: "拒否する",
  back: "戻る",
  reasonPlaceholder: "例: 金額が違います",
  assistantSays: ["アシスタントの説明:「", "」"],
  empty: "なし",
  yes: "はい",
  no: "いいえ",
  highRisk: "要注意",
  mixedScripts: (scripts) => `${scripts} の文字が混在`,
  lookAlikes: (script) => `${script} の文字で書かれています`,
  scripts: {
    Latin: "ラテン文字",
    Cyrillic: "キリル文字",
    Greek: "ギリシャ文字",
    Armenian: "アルメニア文字",
    Cherokee: "チェロキー文字",
    Coptic: "コプト文字",
    Lisu: "リス文字",
    mathematical: "数学用文字",
    "full-width": "全角文字",
    special: "特殊な字形",
  },
  exactCall: "呼び出しの全文",
  runsAs: "実行される内容",
  modelSent: "モデルが送った内容",
  result: "結果",
  digest: "ダイジェスト",
  expiresIn: (time) => `期限まで ${time}`,
  expiring: "まもなく期限切れ…",
  cardLabel: (tool) => `${tool} の承認`,
  tags: {
    asked: "承認待ち",
    sending: "回答を送信中",
    undelivered: "未確認",
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
  paid: "送金済み",
  notes: {
    asked: "あなたが決めるまで、何も実行されません。",
    sending: "サーバーはまだ回答を確認していません。",
    undelivered: "回答がサーバーに届いたか確認できません。もう一度送っても、二重には実行されません。",
    approved: "承認がサーバーに届きました。まもなく実行されます。",
    running: "ツールを実行しています。",
    waiting: "開始済みです。結果の報告を待っています。",
    done: "ツールが実行されました。",
    failed: "ツールは実行されましたが、失敗しました。",
    denied: "ツールは実行されませんでした。",
    expired: "期限内に回答がありませんでした。ツールは実行されていません。",
    cancelled: "依頼は取り下げられました。ツールは実行されていません。",
    unknown: "実行中にサーバーが停止しました。反映された可能性があります。",
  },
  begun: {
    waiting: "承認済みです。承認したブラウザーからの結果を待っています。",
    expired: "期限内に結果が届きませんでした。ブラウザーで実行された可能性があります。",
    cancelled: "結果が届く前に取り下げられました。ブラウザーで実行された可能性があります。",
  },
  waitsUntil: (time) => `開始済みです。${time} まで結果の報告を待ちます。`,
  unreported: "期限内に報告がありませんでした。反映された可能性があります。",
  askedBy: "依頼者:",
  by: ["（", "）"],
  approvedAt: (time) => `${time} に承認`,
  deniedAt: (time) => `${time} に拒否`,
  ranOnce: "1回実行されました",
  runsHere: "このページで実行しています…",
  reason: "理由",
  error: "エラー",
  status: "状況",
  states: {
    pending: "承認待ち",
    approved: "承認済み",
    executing: "実行中",
    waiting: "報告待ち",
    succeeded: "完了",
    failed: "失敗",
    denied: "拒否",
    expired: "期限切れ",
    cancelled: "取り下げ",
    indeterminate: "不明",
  },
  resolution: {
    question: "実際にどうなったかを確かめて、記録してください。アシスタントに伝わります。",
    happened: "実行された…",
    not: "実行されていない…",
    happenedForm: {
      label: "結果（任意。文章または JSON。アシスタントに伝わります）",
      placeholder: "例: 明細に載っています",
      submit: "実行された",
    },
    notForm: {
      label: "確認した内容（任意。アシスタントに伝わります）",
      placeholder: "例: 明細にありません",
      submit: "実行されていない",
    },
    sending: "記録しています…",
    didHappen: "確認済み: 実行された",
    didNotHappen: "確認済み: 実行されていない",
    notTag: "実行されず",
    already: (state) => `状態はすでに分かっています: ${state}。`,
    missing: "この呼び出しが見つからないか、決定する権限がありません。",
    unreachable: "記録できませんでした。もう一度お試しください。",
  },
  transaction: "取引番号",
  announceAsked: (tool) => `${tool} が承認を待っています。`,
  announceState: (tool, state) => `${tool}: ${state}。`,
  announceReply: "アシスタントが応答しました。",
  announceLost: "接続が切れました。再接続しています。",
  announceFound: "接続が回復しました。",
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
    showAllCharacters: (count) => `全${count.toLocaleString("ja-JP")}文字を表示`,
    showAllArguments: (count) => `全${count.toLocaleString("ja-JP")}項目を表示`,
    hint: "この呼び出しの説明",
    unseen: "内容を最後まで表示すると承認できます。",
    showRest: "続きを表示",
    reasonLabel: "理由",
    reasonHint: "任意。アシスタントに伝わります",
    unsentReason: "入力中だった理由は送信されませんでした:",
    unconfirmed: [
      "「",
      "」がサーバーに届いたか、まだ確認できていません。接続が回復すると自動で再送します。二重には実行されません。",
    ],
    sending: (approved) => (approved ? "承認を送信中" : "拒否を送信中"),
    sendAgain: (approved) => (approved ? "承認を再送する" : "拒否を再送する"),
    waiting: (count) => `承認待ち${count}件:`,
    show: "表示",
    latest: "最新へ移動",
    announcements: "お知らせ",
    announceExpiry: (name) => `${name} の期限まで1分を切りました。`,
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
