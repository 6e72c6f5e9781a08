import { expect, test } from "vitest";
import { textIn } from "./card.ts";

test.each([
  ["ja", "支払い"],
  ["ja-JP", "支払い"],
  ["JA", "支払い"],
  ["pt", "Pagamento"],
  ["pt-PT", "Pagamento"],
  ["pt-BR", "Pagamento"],
  ["en", "Payment"],
  ["fr", "Payment"],
  ["", "Payment"],
  ["constructor", "Payment"],
])("the text for the language %j is %j", (language, text) => {
  expect(textIn({ en: "Payment", ja: "支払い", "pt-BR": "Pagamento" }, language)).toBe(text);
});

test("a text without languages is the same for all, and the first language is the default", () => {
  expect(textIn("Payment", "ja")).toBe("Payment");
  expect(textIn({ ja: "支払い", en: "Payment" })).toBe("支払い");
  expect(textIn({})).toBe("");
});
