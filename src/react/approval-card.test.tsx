import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import type { CardState, ChatApprovals } from "../client/chat-approvals.ts";
import { ApprovalCard, type ApprovalCardProps } from "./approval-card.tsx";
import { ja } from "./ja.ts";
import type { ApprovalInfo } from "../client/chat-approvals.ts";

const info: ApprovalInfo = {
  approvalId: "a1",
  toolCallId: "c1",
  toolName: "process_payment",
  state: "asked",
  input: { amount: 50, recipient: "Hanako", currency: "USD" },
};
const none = () => Promise.reject(new Error("A card that is only drawn answers nothing."));

function draw(changes: Partial<ApprovalInfo> | undefined, props: Partial<ApprovalCardProps> = {}): string {
  const known = changes && { ...info, ...changes };
  const approvals: ChatApprovals = {
    get: () => known,
    list: () => [],
    answer: none,
    resolve: none,
    retry: () => undefined,
  };
  const part = { type: "tool-process_payment", approval: { id: "a1" } };
  return renderToStaticMarkup(<ApprovalCard chat={{ approvals }} part={part} {...props} />);
}

const textOf = (markup: string) => markup.replaceAll(/<[^>]*>/g, "|").replaceAll(/\|+/g, "|");

test("draws nothing for a part without an approval, or with one that the chat does not know", () => {
  for (const part of [{ type: "text", text: "x" }, { type: "tool-x", toolCallId: "c" }, { type: "data-approval" }])
    expect(draw({}, { part })).toBe("");
  expect(draw(undefined)).toBe("");
});

test.each<[CardState, string]>([
  ["asked", "Waiting for you"],
  ["sending", "Sending"],
  ["unsent", "Not confirmed"],
  ["approved", "Approved"],
  ["running", "Running"],
  ["waiting", "Waiting for a report"],
  ["done", "Done"],
  ["failed", "Failed"],
  ["denied", "Denied"],
  ["expired", "Expired"],
  ["cancelled", "Cancelled"],
  ["unknown", "Outcome unknown"],
])("says about %s: %s", (state, words) => {
  const markup = draw({ state });
  expect(markup).toContain(`data-state="${state}"`);
  expect(textOf(markup)).toContain(`|${words}|`);
  expect(markup.includes('data-part="approve"')).toBe(state === "asked");
});

test.each<CardState>(["running", "waiting", "done", "failed", "unknown"])("says Approved also while %s", (state) => {
  expect(textOf(draw({ state }))).toContain("Approved");
});

test.each<CardState>(["asked", "sending", "unsent", "denied", "expired", "cancelled"])(
  "does not say Approved while %s",
  (state) => {
    expect(textOf(draw({ state }))).not.toContain("Approved");
  },
);

test("names the call on its buttons, also if it has no arguments", () => {
  const markup = draw({});
  expect(markup).toContain('aria-label="Approval of process_payment $50.00 → Hanako"');
  expect(markup).toContain('aria-label="Deny $50.00 → Hanako"');
  expect(textOf(markup)).toContain("|Approve |$50.00 → Hanako|");
  const empty = draw({ input: {}, card: { title: "Close the shop" } });
  expect(empty).toContain('aria-label="Approve Close the shop"');
  expect(empty).toContain('aria-label="Deny Close the shop"');
});

test("says what was decided elsewhere, which answer is not confirmed, and why", () => {
  expect(textOf(draw({ state: "denied", decidedElsewhere: true }))).toContain("Already denied on another device.");
  expect(textOf(draw({ state: "done", decidedElsewhere: true }))).toContain("Already approved on another device.");
  const unsent = draw({ state: "unsent", answer: { approved: false, reason: "no" }, problem: "The server is away." });
  expect(textOf(unsent)).toContain("Your |Deny| is not confirmed.");
  expect(textOf(unsent)).toContain("The server is away.");
  expect(unsent).toContain('aria-label="Try again: Deny $50.00 → Hanako"');
});

test("speaks Japanese, and uses the labels of the application", () => {
  const japanese = draw({ card: { title: { en: "Send money", ja: "送金" } } }, { language: "ja-JP", labels: ja });
  expect(textOf(japanese)).toContain("|送金|process_payment|");
  expect(textOf(japanese)).toContain("|承認 |");
  const own = draw({}, { labels: { approve: "Release", states: { asked: "Your turn" }, unconfirmed: ["<", ">"] } });
  expect(textOf(own)).toContain("|Release |");
  expect(textOf(own)).toContain("|Your turn|");
  expect(textOf(own)).toContain("|Deny|");
});

test("gives every element its part, and takes class names and slots", () => {
  const markup = draw(
    {},
    {
      classNames: { card: "mine", approve: "big" },
      slots: { note: ({ info: { toolName }, children }) => <div data-mine={toolName}>{children}</div> },
    },
  );
  expect(markup).toContain('data-part="card" class="mine"');
  expect(markup).toContain('data-part="approve" class="big"');
  expect(markup).toContain('<div data-mine="process_payment"><p data-part="note">');
});

test("has no inline styles and no markup of others", () => {
  const markup = draw({ input: { html: "<img src=x onerror=alert(1)>" }, hint: "<script>alert(1)</script>" });
  expect(markup).not.toMatch(/style=|<img|<script/);
});
