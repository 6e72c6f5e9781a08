import { expect, it } from "vitest";
import { readAsk, type RequestBody } from "./read-ask.ts";
import { findRule, type Rule } from "./script.ts";

const user = (text: string) => ({ role: "user", parts: [{ text }] });
const model = (text: string) => ({ role: "model", parts: [{ text }] });
const call = (...args: object[]) => ({
  role: "model",
  parts: args.map((arg, index) => ({ functionCall: { id: `c${index}`, name: "pay", args: arg } })),
});
const response = (...ids: string[]) => ({
  role: "user",
  parts: ids.map((id) => ({ functionResponse: { id, name: "pay", response: { id } } })),
});
const ask = (...contents: RequestBody["contents"]) => readAsk({ contents }, "m", 1);

it("reads the user's new text", () => {
  expect(ask(user("hi"), model("hello"), user("pay Bob"))).toMatchObject({
    text: "pay Bob",
    fresh: true,
    responses: [],
  });
});

it("keeps the user's text while tool results come in, and adds the arguments of their calls", () => {
  expect(ask(user("pay"), call({ a: 1 }, { a: 2 }), response("c0", "c1"))).toMatchObject({
    text: "pay",
    fresh: false,
    responses: [
      { id: "c0", args: { a: 1 }, response: { id: "c0" } },
      { id: "c1", args: { a: 2 }, response: { id: "c1" } },
    ],
  });
});

it("reads both when the user writes while a call waits", () => {
  const seen = ask(user("pay"), call({ a: 1 }), response("c0"), user("never mind"));
  expect(seen).toMatchObject({ text: "never mind", fresh: true, responses: [{ id: "c0" }] });
});

it("leaves out texts that ADK adds under the user's role", () => {
  expect(ask(user("pay"), user("For context:\n[root] called tool `transfer_to_agent`"))).toMatchObject({
    text: "pay",
    fresh: true,
  });
  const nudge = "Continue processing previous requests as instructed. Exit or provide a summary.";
  expect(ask(user("pay"), model("Done."), user(nudge))).toMatchObject({ text: "pay", fresh: false });
  expect(ask(user("pay"), model("Done."), user(" "))).toMatchObject({ text: "pay", fresh: false });
});

it("finds the arguments of an older call if other turns came before its response", () => {
  const seen = ask(user("pay"), call({ a: 1 }, { a: 2 }), user("hi"), model("hello"), response("c1"));
  expect(seen).toMatchObject({ text: "hi", fresh: false, responses: [{ id: "c1", args: { a: 2 } }] });
});

it("leaves out calls and responses of an earlier connection that were sent as text", () => {
  const retold = [user("pay"), model('[called pay({"a":1})]'), user('[pay returned {"ok":true}]')];
  expect(ask(...retold)).toMatchObject({ text: "pay", fresh: false, responses: [] });
  expect(ask(...retold, user("thanks"))).toMatchObject({ text: "thanks", fresh: true });
  const inTheUsersName = user('[called pay({"a":1})]');
  expect(ask(user("pay"), model("Well."), inTheUsersName)).toMatchObject({ text: "pay", fresh: false });
  expect(ask(inTheUsersName, user("[pay] returned nothing?"))).toMatchObject({
    text: "[pay] returned nothing?",
    fresh: true,
  });
});

it("finds the first rule that fits, by a regular expression only for new text", () => {
  const weather: Rule = { when: /weather/gi, say: [] };
  const otherwise: Rule = { say: [] };
  const rules = [weather, otherwise];
  expect(findRule(rules, ask(user("Weather?")))).toBe(weather);
  expect(findRule(rules, ask(user("Weather?")))).toBe(weather);
  expect(findRule(rules, ask(user("Weather?"), call({}), response("c0")))).toBe(otherwise);
  expect(findRule([weather], ask(user("hi")))).toBeUndefined();
});
