import { expect, it } from "vitest";
import { RepeatedSends } from "./repeated-sends.ts";

const answer = (id: string) => ({ messages: [{ id, role: "assistant" }] });

it("refuses the same answer after five times in a row, and lets a person go on", () => {
  const sends = new RepeatedSends();
  for (let time = 0; time < 5; time += 1) sends.check(answer("m1"));
  expect(() => sends.check(answer("m1"))).toThrow("5 times");
  sends.check(answer("m1"));
});

it("lets different answers and repeated messages pass", () => {
  const sends = new RepeatedSends();
  const message = { messages: [{ id: "u", role: "user" }] };
  const times = Array.from({ length: 20 }, (_, time) => time);
  expect(() => times.forEach((time) => sends.check(answer(`m${time % 2}`)))).not.toThrow();
  expect(() => times.forEach(() => sends.check(message))).not.toThrow();
});
