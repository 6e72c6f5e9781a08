import { expect, it } from "vitest";
import { repeatedSends } from "./repeated-sends.ts";

const answer = (id: string) => ({ messages: [{ id, role: "assistant" }] });

it("refuses the same answer after five times in a row, and lets a person go on", () => {
  const check = repeatedSends();
  for (let time = 0; time < 5; time += 1) check(answer("m1"));
  expect(() => check(answer("m1"))).toThrow("5 times");
  check(answer("m1"));
});

it("lets different answers and repeated messages pass", () => {
  const check = repeatedSends();
  const message = { messages: [{ id: "u", role: "user" }] };
  const times = Array.from({ length: 20 }, (_, time) => time);
  expect(() => times.forEach((time) => check(answer(`m${time % 2}`)))).not.toThrow();
  expect(() => times.forEach(() => check(message))).not.toThrow();
});
