import type { Mode } from "./mode.ts";

/** What a visitor can try to break. */
export type Trial = "double" | "tab" | "cut" | "restart" | "expire";

/** The sample tools, by what they show. */
export type Sample = "email" | "shell" | "nested" | "slow" | "failing" | "expiring";

/** The texts of the introduction, the stream inspector, the player, the samples and the “Break it” menu. */
export interface PanelStrings {
  intro: {
    what: string;
    modes: Record<Mode, string>;
    how: string;
    title: string;
    steps: readonly string[];
    read: string;
    close: string;
  };
  /** What a page says that shows any agent: see `AgentInfo`. */
  agent: {
    emptyText: (scripted: boolean) => string;
    call: (tool: string) => string;
    whatCanYouDo: string;
    problem: string;
    keepsRunning: string;
    reloaded: (time: string) => string;
  };
  state: { title: string; empty: string; failed: string };
  tabs: { stream: string; model: string };
  tabsLabel: string;
  filterLabel: string;
  filters: Record<"all" | "text" | "tools" | "approvals" | "wire", string>;
  fold: string;
  copy: string;
  copied: string;
  notCopied: string;
  download: string;
  notDownloaded: string;
  replay: string;
  begins: string;
  withdrawn: string;
  showCard: string;
  nothingMatches: string;
  model: {
    empty: string;
    live: string;
    oneNode: (node: string) => string;
    asked: (contents: number, tools: number) => string;
    failed: string;
    refresh: string;
    refreshed: string;
  };
  player: {
    title: string;
    notice: string;
    play: string;
    pause: string;
    again: string;
    close: string;
    speed: string;
    position: string;
    messages: string;
    unreadable: (reason: string) => string;
    skipped: (count: number) => string;
  };
  logErrors: Record<"large" | "format" | "version" | "empty", string>;
  resetWallet: string;
  samplesTitle: string;
  samplesWait: string;
  samples: Record<Sample, { name: string; sentence: string }>;
  breakIt: {
    title: string;
    text: string;
    off: string;
    needsQuestion: string;
    waits: (call: string) => string;
    running: string;
    trials: Record<Trial, { name: string; text: string }>;
    answered: (answer: string, status: number, words: string) => string;
    yes: string;
    no: string;
    ledger: (row: { tool: string; state: string; decided: string; ended: string }) => string;
    decided: (by: string, time: string) => string;
    ended: (time: string) => string;
    paid: (count: number) => string;
    tabOpen: string;
    tabBlocked: string;
    tabNoQuestion: string;
    cut: string;
    oneNode: (node: string) => string;
    back: (seconds: string) => string;
    restarted: (seconds: string, time: string) => string;
    away: string;
    unchanged: (count: number) => string;
    expires: (time: string) => string;
    notAsked: string;
  };
}

const en: PanelStrings = {
  intro: {
    what: "Google ADK agents in a Vercel AI SDK chat. Tool calls wait for your approval, then run once.",
    modes: {
      sse: "SSE: one HTTP request per message, the reply is streamed.",
      bidi: "BIDI: one WebSocket, Gemini Live; write while a card waits.",
    },
    how: "How this works",
    title: "How this works",
    steps: [
      "Your message goes to a Google ADK agent on the server. What the agent does is written to a log, and this page reads the log with useChat of the AI SDK.",
      "When the agent calls a tool that needs approval, the server holds the call and writes a question into its ledger. The card shows exactly what would run.",
      "Your answer moves the row in the ledger. Only an approved row can be claimed, and only once, so two clicks, two tabs or a restart run the tool once.",
      "The panel shows the ledger, every chunk of the stream, and what the model was asked. “Break it” tries what usually goes wrong.",
    ],
    read: "README.md, PROTOCOL.md and docs/ in the repository say the rest.",
    close: "Close",
  },
  agent: {
    emptyText: (scripted) =>
      scripted
        ? "There is no API key, so a scripted Gemini stands in. Name a tool and it is called with made-up arguments."
        : "Calls that need your approval wait for you. An approved call runs once.",
    call: (tool) => `call ${tool}`,
    whatCanYouDo: "What can you do?",
    problem: "The change was not taken",
    keepsRunning: "The last good agent keeps running.",
    reloaded: (time) => `The agent was reloaded at ${time}.`,
  },
  state: {
    title: "State",
    empty: "The state of the session is empty.",
    failed: "The state could not be read.",
  },
  tabs: { stream: "Chunks", model: "Model" },
  tabsLabel: "What the inspector shows",
  filterLabel: "Filter",
  filters: { all: "All", text: "Text", tools: "Tools", approvals: "Approvals", wire: "Wire" },
  fold: "Fold deltas",
  copy: "Copy",
  copied: "Copied.",
  notCopied: "The browser did not allow copying.",
  download: "Download log",
  notDownloaded: "The log could not be downloaded.",
  replay: "Replay a log…",
  begins: "turn",
  withdrawn: "withdrawn",
  showCard: "Show the card",
  nothingMatches: "No line matches the filter.",
  model: {
    empty: "Nothing was asked yet.",
    live: "A live model gets each event over its open connection, so there are no requests to show.",
    oneNode: (node) =>
      `Several nodes serve this page. The requests are those of node ${node.slice(0, 6)}, the events are those of all.`,
    asked: (contents, tools) => `asked: ${contents} contents, ${tools} tools`,
    failed: "The server did not say what the model was asked.",
    refresh: "Refresh",
    refreshed: "Up to date.",
  },
  player: {
    title: "Replay",
    notice: "This is a recording. Nothing in it can be decided, and nothing runs.",
    play: "Play",
    pause: "Pause",
    again: "From the beginning",
    close: "Close the replay",
    speed: "Speed",
    position: "Position",
    messages: "Recorded conversation",
    unreadable: (reason) => `This file cannot be replayed: ${reason}`,
    skipped: (count) => (count === 1 ? "1 line could not be read." : `${count} lines could not be read.`),
  },
  logErrors: {
    large: "It is larger than 32 MiB.",
    format: "It is not a log that was downloaded here.",
    version: "Another version wrote it.",
    empty: "It has no turns.",
  },
  resetWallet: "Refill",
  samplesTitle: "More to try",
  samplesWait: "In SSE a new message withdraws the call that waits. Answer it first.",
  samples: {
    email: { name: "Email", sentence: "Email Hanako about the budget" },
    shell: { name: "Shell command", sentence: "Run `git push --force`" },
    nested: { name: "Nested arguments", sentence: "Scale the shop to 5 replicas" },
    slow: { name: "Slow tool", sentence: "Export the customer report for May" },
    failing: { name: "Failing tool", sentence: "Charge the company card 20 dollars" },
    expiring: { name: "Ten seconds to answer", sentence: "Book seat 12A" },
  },
  breakIt: {
    title: "Break it",
    text: "Try what usually goes wrong. What happened is read from the server's ledger.",
    off: "This server does not allow it (DEBUG_ROUTES).",
    needsQuestion: "Ask for something first, so that a call waits.",
    waits: (call) => `Waits: ${call}`,
    running: "Trying…",
    trials: {
      double: { name: "Answer three times", text: "Approves twice and denies once, all at the same moment." },
      tab: { name: "Second tab", text: "Opens this chat again. Answer in either tab." },
      cut: { name: "Cut the connection", text: "The server drops every connection, in the middle of a reply too." },
      restart: { name: "Restart the server", text: "Closes everything and starts again from its database." },
      expire: { name: "Let it expire", text: "Asks for a seat that is held for ten seconds. Do not answer." },
    },
    answered: (answer, status, words) => `${answer}: ${status} ${words}`,
    yes: "Approve",
    no: "Deny",
    ledger: ({ tool, state, decided, ended }) => `Ledger: ${tool} is ${state}${decided}${ended}.`,
    decided: (by, time) => `, decided by ${by} at ${time}`,
    ended: (time) => `, ended at ${time}`,
    paid: (count) => (count === 1 ? "Wallet: one payment more." : `Wallet: ${count} payments more.`),
    tabOpen: "The other tab is open. Answer there and watch this one.",
    tabBlocked: "The browser blocked the tab. Allow pop-ups, or open this address in another tab.",
    tabNoQuestion: "The other tab is open. Ask for a payment in one tab and answer it in the other.",
    cut: "Every connection was cut.",
    oneNode: (node) => `Several nodes serve this page. Only node ${node.slice(0, 6)} did this; the others went on.`,
    back: (seconds) => `The page was connected again after ${seconds} s.`,
    restarted: (seconds, time) => `The server was away for ${seconds} s and started again at ${time}.`,
    away: "The server did not come back within 20 s.",
    unchanged: (count) => (count === 0 ? "Ledger: no approvals in this chat." : "Ledger, as before:"),
    expires: (time) => `Asked. It expires at ${time}.`,
    notAsked: "No question came.",
  },
};

const ja: PanelStrings = {
  intro: {
    what: "Google ADK のエージェントを Vercel AI SDK のチャットで。ツールは承認を待ち、一度だけ実行されます。",
    modes: {
      sse: "SSE: メッセージごとに HTTP リクエスト1回、応答はストリーム。",
      bidi: "BIDI: WebSocket 1本と Gemini Live。承認待ちの間も会話できます。",
    },
    how: "仕組み",
    title: "仕組み",
    steps: [
      "メッセージはサーバーの Google ADK エージェントに届きます。エージェントの動作はログに記録され、このページは AI SDK の useChat でそのログを読みます。",
      "承認が必要なツールが呼び出されると、サーバーは実行を止めて台帳に記録します。カードには、実行される内容がそのまま表示されます。",
      "回答すると台帳の行が進みます。実行できるのは承認済みの行だけで、一度だけです。二度押しても、タブが2つでも、再起動しても、実行は一度きりです。",
      "右のパネルには、台帳、ストリームの全チャンク、モデルへの問い合わせが表示されます。「壊してみる」で、よくある障害を試せます。",
    ],
    read: "詳しくはリポジトリの README.md、PROTOCOL.md、docs/ をご覧ください。",
    close: "閉じる",
  },
  agent: {
    emptyText: (scripted) =>
      scripted
        ? "API キーがないため、デモ用 Gemini（固定応答）が応答します。ツール名を書くと、仮の引数で呼び出します。"
        : "承認が必要な呼び出しは、あなたの回答を待ちます。承認された呼び出しは一度だけ実行されます。",
    call: (tool) => `${tool} を呼んで`,
    whatCanYouDo: "何ができますか？",
    problem: "変更を読み込めませんでした",
    keepsRunning: "直前のエージェントが動き続けています。",
    reloaded: (time) => `エージェントを ${time} に読み込み直しました。`,
  },
  state: {
    title: "状態",
    empty: "セッションの状態は空です。",
    failed: "状態を取得できませんでした。",
  },
  tabs: { stream: "チャンク", model: "モデル" },
  tabsLabel: "表示する内容",
  filterLabel: "絞り込み",
  filters: { all: "すべて", text: "テキスト", tools: "ツール", approvals: "承認", wire: "通信" },
  fold: "差分をまとめる",
  copy: "コピー",
  copied: "コピーしました。",
  notCopied: "ブラウザーがコピーを許可しませんでした。",
  download: "ログを保存",
  notDownloaded: "ログを保存できませんでした。",
  replay: "ログを再生…",
  begins: "ターン",
  withdrawn: "取り下げ",
  showCard: "カードを表示",
  nothingMatches: "条件に合う行がありません。",
  model: {
    empty: "まだ問い合わせはありません。",
    live: "ライブ接続では、イベントがそのつど送られるため、リクエストはありません。",
    oneNode: (node) =>
      `このページは複数のノードで動いています。リクエストはノード ${node.slice(0, 6)} のもの、イベントは全ノード共通です。`,
    asked: (contents, tools) => `問い合わせ: コンテンツ${contents}件、ツール${tools}個`,
    failed: "モデルへの問い合わせを取得できませんでした。",
    refresh: "更新",
    refreshed: "最新の状態です。",
  },
  player: {
    title: "再生",
    notice: "これは記録の再生です。承認や拒否はできず、何も実行されません。",
    play: "再生",
    pause: "一時停止",
    again: "最初から",
    close: "再生を閉じる",
    speed: "速度",
    position: "再生位置",
    messages: "記録された会話",
    unreadable: (reason) => `このファイルは再生できません: ${reason}`,
    skipped: (count) => `${count}行を読み取れませんでした。`,
  },
  logErrors: {
    large: "32 MiB を超えています。",
    format: "このページで保存したログではありません。",
    version: "別のバージョンで保存されたログです。",
    empty: "会話が記録されていません。",
  },
  resetWallet: "残高を戻す",
  samplesTitle: "ほかの例",
  samplesWait: "SSE では、新しいメッセージを送ると承認待ちの呼び出しが取り下げられます。先に回答してください。",
  samples: {
    email: { name: "メール", sentence: "花子さんに予算の件でメールして" },
    shell: { name: "シェルコマンド", sentence: "「git push --force」を実行して" },
    nested: { name: "入れ子の引数", sentence: "ショップを5台に増やして" },
    slow: { name: "時間のかかるツール", sentence: "5月の顧客レポートを書き出して" },
    failing: { name: "失敗するツール", sentence: "会社のカードに20ドル請求して" },
    expiring: { name: "期限は10秒", sentence: "座席12Aを予約して" },
  },
  breakIt: {
    title: "壊してみる",
    text: "よくある障害を試せます。結果はサーバーの台帳から表示します。",
    off: "このサーバーでは使えません（DEBUG_ROUTES）。",
    needsQuestion: "先に何かを依頼して、承認待ちにしてください。",
    waits: (call) => `承認待ち: ${call}`,
    running: "実行しています…",
    trials: {
      double: { name: "3回同時に回答", text: "承認を2回、拒否を1回、同時に送ります。" },
      tab: { name: "2つ目のタブ", text: "同じチャットをもう1つ開きます。どちらで回答しても構いません。" },
      cut: { name: "接続を切る", text: "サーバーがすべての接続を切ります。応答の途中でも試せます。" },
      restart: { name: "サーバーを再起動", text: "すべてを閉じ、データベースから起動し直します。" },
      expire: { name: "期限切れにする", text: "10秒だけ確保される座席を依頼します。回答せずにお待ちください。" },
    },
    answered: (answer, status, words) => `${answer}: ${status} ${words}`,
    yes: "承認",
    no: "拒否",
    ledger: ({ tool, state, decided, ended }) => `台帳: ${tool} は ${state}${decided}${ended}。`,
    decided: (by, time) => `、${time} に ${by} が回答`,
    ended: (time) => `、${time} に終了`,
    paid: (count) => `ウォレット: 送金が${count}件増えました。`,
    tabOpen: "もう1つのタブを開きました。そちらで回答し、このタブをご覧ください。",
    tabBlocked: "タブがブロックされました。ポップアップを許可するか、このアドレスを別のタブで開いてください。",
    tabNoQuestion: "もう1つのタブを開きました。片方で送金を依頼し、もう片方で回答してみてください。",
    cut: "すべての接続を切りました。",
    oneNode: (node) =>
      `このページは複数のノードで動いています。対象はノード ${node.slice(0, 6)} だけで、ほかのノードは動き続けます。`,
    back: (seconds) => `${seconds}秒後に再接続しました。`,
    restarted: (seconds, time) => `サーバーは ${seconds}秒停止し、${time} に起動しました。`,
    away: "20秒たってもサーバーが戻りません。",
    unchanged: (count) => (count === 0 ? "台帳: このチャットに承認はありません。" : "台帳（変化なし）:"),
    expires: (time) => `依頼しました。期限は ${time} です。`,
    notAsked: "依頼が届きませんでした。",
  },
};

export const panelStrings = { en, ja };
