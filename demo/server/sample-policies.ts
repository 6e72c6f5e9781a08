import type { ToolPolicy } from "adk-stream-protocol";

/** What the cards of the sample tools say. */
export const createSamplePolicies = ({
  seatMs,
}: {
  /** How long a seat is held. */ seatMs: number;
}): Record<string, ToolPolicy> => ({
  send_email: {
    // The key of the call is the id of the message, so a mail server drops a second one.
    effect: "idempotent",
    title: { en: "Send an email", ja: "メールの送信" },
    hint: {
      en: "It is sent in your name. In this demo no mail is really sent.",
      ja: "あなたの名前で送信されます。このデモでは実際には送信されません。",
    },
    icon: "✉",
    tone: "caution",
    fields: {
      to: { label: { en: "To", ja: "宛先" } },
      subject: { label: { en: "Subject", ja: "件名" } },
      body: { label: { en: "Text", ja: "本文" }, format: "multiline" },
    },
  },
  run_command: {
    title: { en: "Run a shell command", ja: "シェルコマンドの実行" },
    hint: {
      en: "It would run on the build server. In this demo no command is ever run.",
      ja: "ビルドサーバーで実行されます。このデモではコマンドは一切実行されません。",
    },
    icon: ">",
    tone: "danger",
    fields: {
      command: { label: { en: "Command", ja: "コマンド" }, format: "code" },
      directory: { label: { en: "In", ja: "場所" }, format: "code" },
    },
  },
  update_settings: {
    effect: "idempotent",
    title: { en: "Change settings", ja: "設定の変更" },
    hint: ({ service }) => ({
      en: `Replaces the settings of ${String(service)}.`,
      ja: `${String(service)} の設定を置き換えます。`,
    }),
    icon: "⚙",
    tone: "caution",
    fields: {
      service: { label: { en: "Service", ja: "サービス" }, format: "code" },
      settings: { label: { en: "Settings", ja: "設定" } },
    },
  },
  export_report: {
    effect: "readonly",
    title: { en: "Export customer data", ja: "顧客データの書き出し" },
    hint: {
      en: "The file contains personal data. It takes a few seconds.",
      ja: "個人データが含まれます。数秒かかります。",
    },
    icon: "↓",
    tone: "caution",
    timeoutMs: 5 * 60_000,
    fields: {
      report: { label: { en: "Report", ja: "レポート" } },
      month: { label: { en: "Month", ja: "対象月" } },
      format: { label: { en: "Format", ja: "形式" }, format: "code" },
    },
  },
  charge_card: {
    title: { en: "Charge a card", ja: "カードへの請求" },
    hint: {
      en: "The bank will decline it: this tool always fails.",
      ja: "銀行に拒否されます。このツールは必ず失敗します。",
    },
    icon: "¤",
    tone: "caution",
    fields: {
      amount: { label: { en: "Amount", ja: "金額" }, format: "money", currency: "currency" },
      card: { label: { en: "Card", ja: "カード" } },
      currency: { label: { en: "Currency", ja: "通貨" }, format: "code" },
    },
  },
  book_seat: {
    title: { en: "Book a seat", ja: "座席の予約" },
    hint: { en: "The seat is held for ten seconds.", ja: "座席は10秒間だけ確保されます。" },
    icon: "◷",
    tone: "neutral",
    expiresMs: seatMs,
    fields: { seat: { label: { en: "Seat", ja: "座席" } } },
  },
});
