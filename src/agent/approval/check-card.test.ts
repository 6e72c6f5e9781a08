import { describe, expect, it } from "vitest";
import { checkCard } from "./check-card.ts";

const check = (policy: object) => () => checkCard("tools.pay", policy);

describe("what a policy says about its cards", () => {
  it.each<[string, object]>([
    ["nothing", {}],
    ["texts", { title: "Pay", hint: "Sends money." }],
    ["texts by language", { title: { en: "Pay", ja: "支払う" }, hint: { "pt-BR": "Envia dinheiro." } }],
    ["a function as the hint", { hint: () => "Sends money." }],
    ["an emoji of several code points", { icon: "👩🏽‍💻", tone: "danger" }],
    ["a flag", { icon: "🇯🇵", tone: "neutral" }],
    ["fields", { fields: { amount: { label: "Sum", format: "money", currency: "USD" }, note: {} } }],
    ["a currency from another argument", { fields: { amount: { format: "money", currency: "currency" } } }],
  ])("may be %s", (_, policy) => {
    expect(check(policy)).not.toThrow();
  });

  it.each<[object, string]>([
    [{ tone: "red" }, 'tools.pay.tone must be one of "neutral", "caution", "danger"; it is "red"'],
    [{ tone: null }, "tools.pay.tone must be one of"],
    [{ title: 5 }, "tools.pay.title must be a text; it is 5"],
    [{ title: "" }, "tools.pay.title must be a text"],
    [{ title: () => "Pay" }, "tools.pay.title must be a text; it is a function"],
    [{ title: {} }, "tools.pay.title must be a text in 1 to 20 languages"],
    [{ title: ["Pay"] }, "tools.pay.title must be a text"],
    [{ title: { en: 1 } }, "tools.pay.title.en must be a text; it is 1"],
    [{ title: { "": "Pay" } }, "tools.pay.title must be a text, or texts by language"],
    [{ title: { "<b>": "Pay" } }, "tools.pay.title must be a text, or texts by language"],
    [{ title: "a".repeat(121) }, "tools.pay.title must be a text of at most 120 characters"],
    [{ hint: "a".repeat(1001) }, "tools.pay.hint must be a text or a function of at most 1000 characters"],
    [{ hint: 1 }, "tools.pay.hint must be a text or a function; it is 1"],
    [{ icon: "ab" }, 'tools.pay.icon must be one character, for example an emoji; it is "ab"'],
    [{ icon: " " }, "tools.pay.icon must be one character"],
    [{ icon: "<svg/>" }, "tools.pay.icon must be one character"],
    [{ icon: `a${"\u0301".repeat(40)}` }, "tools.pay.icon must be one character"],
    [{ fields: [] }, "tools.pay.fields must be an object"],
    [{ fields: { amount: "Sum" } }, 'tools.pay.fields.amount must be an object such as { label, format }; it is "Sum"'],
    [{ fields: { amount: { label: { en: "" } } } }, "tools.pay.fields.amount.label.en must be a text"],
    [{ fields: { amount: { format: "html" } } }, 'tools.pay.fields.amount.format must be one of "text"'],
    [{ fields: { amount: { format: "money", currency: 1 } } }, "tools.pay.fields.amount.currency must be an ISO 4217"],
    [{ fields: { amount: { currency: "USD" } } }, 'tools.pay.fields.amount.format must be "money"'],
    [
      { fields: Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`a${index}`, {}])) },
      "tools.pay.fields must be an object with at most 100 names; it is 101",
    ],
  ])("is refused at start with the option's name: %j", (policy, sentence) => {
    expect(check(policy)).toThrow(`The option ${sentence}`);
  });
});
