import { expect, it } from "vitest";
import { isBlocking, toModelName } from "./live-setup.ts";

const setup = {
  model: "models/m",
  tools: [{ functionDeclarations: [{ name: "look", behavior: "NON_BLOCKING" }, { name: "pay" }] }],
};

it.each([
  ["a tool declared NON_BLOCKING is not waited for", ["look"], undefined, false],
  ["any other tool is waited for", ["pay"], undefined, true],
  ["one tool that is waited for is enough", ["look", "pay"], undefined, true],
  ["an unknown tool is waited for", ["other"], undefined, true],
  ["the settings overrule a declaration", ["look"], "BLOCKING", true],
  ["the settings overrule a missing declaration", ["pay"], "NON_BLOCKING", false],
] as const)("%s", (_, names, behavior, expected) => {
  expect(
    isBlocking(
      names.map((name) => ({ name })),
      setup,
      behavior,
    ),
  ).toBe(expected);
});

it.each(["m", "models/m"])("the model of %s is m", (model) => {
  expect(toModelName(model)).toBe("m");
});
