import type { Content } from "@google/genai";
import { describe, expect, it } from "vitest";
import { pairingErrors } from "./pairing-errors.ts";

const user = (text: string): Content => ({ role: "user", parts: [{ text }] });
const model = (text: string): Content => ({ role: "model", parts: [{ text }] });
const calls = (...names: string[]): Content => ({
  role: "model",
  parts: names.map((name) => ({ functionCall: { ...split(name), args: {} } })),
});
const responses = (...names: string[]): Content => ({
  role: "user",
  parts: names.map((name) => ({ functionResponse: { ...split(name), response: {} } })),
});
function split(label: string): { name: string; id?: string } {
  const [name = "", id] = label.split("#");
  return id === undefined ? { name } : { name, id };
}

describe("pairingErrors", () => {
  it.each<[string, Content[]]>([
    ["plain talk", [user("hi"), model("hello"), user("bye")]],
    ["one call", [user("pay"), calls("pay"), responses("pay"), model("done")]],
    ["text before the call", [user("pay"), model("let me"), calls("pay"), responses("pay")]],
    ["parallel calls in order", [user("pay"), calls("pay#1", "look#2"), responses("pay#1", "look#2")]],
    ["one call after another", [user("pay"), calls("a"), responses("a"), calls("b"), responses("b")]],
    ["two user turns in a row", [user("hi"), user("hello?")]],
  ])("accepts %s", (_case, contents) => {
    expect(pairingErrors(contents)).toEqual([]);
  });

  it.each<[string, Content[], string[]]>([
    [
      "a call with no response at the end",
      [user("pay"), calls("pay")],
      ["turn 1 calls [pay] but turn 2 responds to []"],
    ],
    [
      "a call followed by text",
      [user("pay"), calls("pay"), user("well?")],
      ["turn 1 calls [pay] but turn 2 responds to []"],
    ],
    [
      "too few responses",
      [user("pay"), calls("pay", "look"), responses("pay")],
      ["turn 1 calls [pay, look] but turn 2 responds to [pay]"],
    ],
    [
      "too many responses",
      [user("pay"), calls("pay"), responses("pay", "pay")],
      ["turn 1 calls [pay] but turn 2 responds to [pay, pay]"],
    ],
    [
      "responses in another order",
      [user("pay"), calls("pay", "look"), responses("look", "pay")],
      ["turn 1 calls [pay, look] but turn 2 responds to [look, pay]"],
    ],
    [
      "the same tool's responses swapped",
      [user("pay"), calls("pay#1", "pay#2"), responses("pay#2", "pay#1")],
      ["turn 1 calls [pay#1, pay#2] but turn 2 responds to [pay#2, pay#1]"],
    ],
    [
      "a response that lost its id",
      [user("pay"), calls("pay#1"), responses("pay")],
      ["turn 1 calls [pay#1] but turn 2 responds to [pay]"],
    ],
    ["a response to nothing", [user("pay"), responses("pay")], ["turn 1 responds to [pay] but turn 0 calls nothing"]],
    [
      "a response sent twice",
      [user("pay"), calls("pay"), responses("pay"), responses("pay")],
      ["turn 3 responds to [pay] but turn 2 calls nothing"],
    ],
    [
      "a response among text",
      [user("pay"), calls("pay"), { role: "user", parts: [...(responses("pay").parts ?? []), { text: "and?" }] }],
      ["turn 2 mixes function responses with other parts"],
    ],
    [
      "a response in the model's name",
      [user("pay"), calls("pay"), { ...responses("pay"), role: "model" }],
      ["turn 2 is the model's and has function responses"],
    ],
    ["an empty turn", [user("hi"), { role: "model", parts: [] }], ["turn 1 has no parts"]],
    [
      "a conversation the model begins",
      [model("hi")],
      ["turn 0 is the model's, but a conversation begins with the user"],
    ],
  ])("reports %s", (_case, contents, errors) => {
    expect(pairingErrors(contents)).toEqual(errors);
  });
});
