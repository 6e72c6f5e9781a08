import type { ToolPolicy } from "adk-stream-protocol";
import { createSamplePolicies } from "./sample-policies.ts";
import type { Wallet } from "./wallet.ts";

export interface PolicyOptions {
  wallet: Pick<Wallet, "read">;
  /** How long a deployment may take to report. */
  reportMs: number;
  /** How long a seat is held: short enough to watch its question expire. */
  seatMs?: number;
}

/** What the demo's server says about its tools: on the card, and about a crash in the middle of a call. */
export function createPolicies(options: PolicyOptions): Record<string, ToolPolicy> {
  const { wallet, reportMs, seatMs = 10_000 } = options;
  return {
    process_payment: {
      // The wallet pays once per key, so a payment that a crash interrupted may be tried again.
      effect: "idempotent",
      title: { en: "Send money", ja: "送金" },
      hint: async ({ amount }) => describeBalance((await wallet.read()).balance, Number(amount)),
      icon: "$",
      tone: "caution",
      fields: {
        amount: { label: { en: "Amount", ja: "金額" }, format: "money", currency: "currency" },
        recipient: { label: { en: "To", ja: "送金先" } },
        description: { label: { en: "For", ja: "用途" }, format: "multiline" },
        currency: { label: { en: "Currency", ja: "通貨" }, format: "code" },
      },
    },
    deploy: {
      // A second attempt with the same key finds the deployment that was begun.
      effect: "idempotent",
      title: { en: "Deploy a service", ja: "サービスのデプロイ" },
      hint: ({ service, environment }) => ({
        en: `Replaces the running ${String(service)} in ${String(environment)}. It reports back when it is live.`,
        ja: `${String(environment)} で稼働中の ${String(service)} を置き換えます。完了すると報告が届きます。`,
      }),
      icon: "↑",
      tone: "danger",
      fields: {
        service: { label: { en: "Service", ja: "サービス" }, format: "code" },
        environment: { label: { en: "Environment", ja: "環境" }, format: "code" },
      },
      reportMs,
    },
    get_location: {
      title: { en: "Share your location", ja: "位置情報の共有" },
      hint: {
        en: "Your browser tells the assistant where you are, once.",
        ja: "ブラウザーが現在地を一度だけアシスタントに伝えます。",
      },
      icon: "◎",
      tone: "neutral",
    },
    get_weather: { effect: "readonly" },
    ...createSamplePolicies({ seatMs }),
  };
}

function describeBalance(balance: number, amount: number): Record<"en" | "ja", string> {
  const sum = (value: number) => value.toLocaleString("en-US", { style: "currency", currency: "USD" });
  const left = balance - amount;
  if (!(left >= 0 && left < balance))
    return { en: `Your wallet holds ${sum(balance)}.`, ja: `ウォレットの残高は ${sum(balance)} です。` };
  return {
    en: `Your wallet then holds ${sum(left)}. It cannot be taken back.`,
    ja: `送金後の残高は ${sum(left)} です。取り消しはできません。`,
  };
}
