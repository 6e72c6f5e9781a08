import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { textIn } from "../../protocol/index.ts";
import { type Logger, silentLogger } from "../support/index.ts";
import { makeCard } from "./make-card.ts";
import type { CardPolicy } from "./policy.ts";

const cardOf = (policy: CardPolicy, input: string, rest: { declared?: string[]; logger?: Logger } = {}) => {
  const shown = Object.keys(JSON.parse(input) as object);
  return makeCard(policy, { toolName: "pay", input, shown, declared: [], logger: silentLogger, ...rest });
};

/** The card of a call, and what was logged. */
async function open(policy: CardPolicy, args: object = { amount: 50, recipient: "Hanako" }) {
  const warnings: unknown[] = [];
  const logger: Logger = { ...silentLogger, warn: (text, fields) => void warnings.push([text, fields]) };
  const card = await cardOf(policy, JSON.stringify(args), { logger });
  return { card, warnings };
}

/** A policy of a JavaScript caller, which may return anything. */
const returning = (value: unknown) => ({ hint: () => value }) as CardPolicy;

afterEach(() => {
  vi.useRealTimers();
});

describe("a card", () => {
  it("does not exist if the policy says nothing", async () => {
    expect(await open({})).toEqual({ card: undefined, warnings: [] });
    expect(await open({ fields: { other: { label: "Other" } } })).toEqual({ card: undefined, warnings: [] });
  });

  it("has the texts of the policy, and the fields of the arguments that the call has", async () => {
    const title = { en: "Send money", ja: "送金" };
    const policy: CardPolicy = {
      title,
      hint: "Cannot be taken back.",
      icon: "$",
      tone: "caution",
      fields: { amount: { label: "Amount" }, other: { label: "Other" } },
    };
    const { card } = await open(policy);
    expect(card).toEqual({ ...policy, fields: { amount: { label: "Amount" } } });
  });

  it("has a hint made of the arguments, at once or later, in one language or several", async () => {
    const hint = ({ amount, recipient }: Record<string, unknown>) => `Sends ${String(amount)} to ${String(recipient)}.`;
    expect((await open({ hint })).card).toEqual({ hint: "Sends 50 to Hanako." });
    expect((await open({ hint: async (args) => ({ en: hint(args), ja: "送金します。" }) })).card).toEqual({
      hint: { en: "Sends 50 to Hanako.", ja: "送金します。" },
    });
  });

  it("names a currency by its code, also if another argument has it", async () => {
    const fields = { amount: { format: "money", currency: "currency" } } as const;
    const moneyIn = async (currency: unknown) => (await open({ fields }, { amount: 5, currency })).card?.fields;
    expect(await moneyIn("JPY")).toEqual({ amount: { format: "money", currency: "JPY" } });
    for (const wrong of ["dollars", "usd", 5, null, undefined, { code: "USD" }])
      expect(await moneyIn(wrong)).toEqual({ amount: { format: "money" } });
    const fixed = { amount: { format: "money", currency: "EUR" } } as const;
    expect((await open({ fields: fixed }, { amount: 5, EUR: "USD" })).card?.fields).toEqual(fixed);
  });

  it("keeps an argument whose name is special in JavaScript", async () => {
    const fields = JSON.parse('{"__proto__": {"label": "Prototype"}}') as NonNullable<CardPolicy["fields"]>;
    const card = await cardOf({ fields }, '{"__proto__": 1}');
    expect(JSON.stringify(card)).toBe('{"fields":{"__proto__":{"label":"Prototype"}}}');
  });

  it("has the arguments in the order of the tool's declaration, after those of the policy", async () => {
    const input = JSON.stringify({ body: "Hello", subject: "Budget", to: "a@b.example" });
    const declared = ["to", "cc", "subject", "body"];
    const order = async (policy: CardPolicy) =>
      Object.entries((await cardOf(policy, input, { declared }))?.fields ?? {});
    expect(await order({})).toEqual([
      ["to", {}],
      ["subject", {}],
      ["body", {}],
    ]);
    const body = { format: "multiline" } as const;
    expect(await order({ title: "Mail", fields: { body } })).toEqual([
      ["body", body],
      ["to", {}],
      ["subject", {}],
    ]);
    const subject = { label: "Subject" };
    expect(await order({ fields: { to: {}, subject } })).toEqual([
      ["to", {}],
      ["subject", subject],
    ]);
  });
});

describe("a hint that cannot be made", () => {
  it.each<[string, CardPolicy]>([
    ["throws", { hint: () => expect.fail("broken") }],
    ["rejects", { hint: () => Promise.reject(new Error("broken")) }],
    ["is a number", returning(5)],
    ["is a list", returning(["a"])],
    ["is a function", returning(() => "a")],
    ["has a value that is no text", returning({ en: 5 })],
    ["has a key that is no language", returning({ "<b>": "a" })],
    ["has no language", returning({})],
    [
      "throws when it is read",
      returning(Object.defineProperty({}, "en", { enumerable: true, get: () => expect.fail() })),
    ],
    ["has too many languages", returning(Object.fromEntries(letters().map((letter) => [`a${letter}`, "x"])))],
  ])("is left out with a warning if it %s", async (_, policy) => {
    const { card, warnings } = await open({ ...policy, title: "Pay" });
    expect(card).toEqual({ title: "Pay" });
    expect(warnings).toEqual([
      ["The hint of a call could not be made; its card has none.", { tool: "pay", error: expect.anything() }],
    ]);
  });

  it("is left out if it takes too long, and does not disturb anything when it fails later", async () => {
    vi.useFakeTimers();
    let fail: (error: Error) => void = () => undefined;
    const late = new Promise<string>((_, reject) => (fail = reject));
    const opened = open({ hint: () => late, title: "Pay" });
    await vi.advanceTimersByTimeAsync(1000);
    expect(await opened).toMatchObject({ card: { title: "Pay" }, warnings: [expect.anything()] });
    fail(new Error("too late"));
    await vi.advanceTimersByTimeAsync(0);
  });

  it("is left out without a warning if the function returns none", async () => {
    for (const none of [undefined, null, ""])
      expect(await open(returning(none))).toEqual({ card: undefined, warnings: [] });
  });
});

describe("the function of a hint", () => {
  it("cannot change the arguments that run", async () => {
    const args = { amount: 50, nested: { to: "Hanako" } };
    const input = JSON.stringify(args);
    const hint = (seen: Record<string, unknown>) => {
      Object.assign(seen, { amount: 1 });
      Object.assign(seen["nested"] as object, { to: "Mallory" });
      return "ok";
    };
    const fields = { amount: { format: "money", currency: "USD" } } as const;
    const card = await cardOf({ hint, fields }, input);
    expect(card).toEqual({ hint: "ok", fields });
    expect(input).toBe(JSON.stringify(args));
  });

  it("may return any text: it is stored as well-formed text of limited length", async () => {
    const unit = fc.oneof(fc.integer({ min: 0, max: 0x10ffff }), fc.constantFrom(0, 0xd800, 0xdfff, 0x1f600));
    const anyText = fc
      .array(unit, { maxLength: 2000, size: "max" })
      .map((points) => points.map((point) => String.fromCodePoint(point)).join(""));
    await fc.assert(
      fc.asyncProperty(anyText, async (text) => {
        const { card } = await open({ hint: () => text });
        const hint = textIn(card?.hint ?? "");
        expect(hint.length).toBeLessThanOrEqual(1000);
        expect(/\p{Surrogate}|\0/u.test(hint)).toBe(false);
        if (text.length <= 1000) expect(hint).toBe(text.replaceAll(/\p{Surrogate}|\0/gu, "\ufffd"));
        else expect(hint.endsWith("…")).toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});

function letters(): string[] {
  return Array.from("abcdefghijklmnopqrstu");
}
