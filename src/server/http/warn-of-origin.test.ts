import { expect, test } from "vitest";
import { silentLogger } from "../../agent/index.ts";
import { warnOfOrigin } from "./warn-of-origin.ts";

function recorded() {
  const origins: unknown[] = [];
  const logger = {
    ...silentLogger,
    warn: (_: string, fields?: Record<string, unknown>) => origins.push(fields?.["origin"]),
  };
  return { origins, options: { logger } };
}

test("logs each origin once", () => {
  const { origins, options } = recorded();
  for (const origin of ["https://a.example", "https://b.example", "https://a.example"]) warnOfOrigin(options, origin);
  expect(origins).toEqual(["https://a.example", "https://b.example"]);
});

test("another server logs the same origin again", () => {
  const [one, other] = [recorded(), recorded()];
  warnOfOrigin(one.options, "https://a.example");
  warnOfOrigin(other.options, "https://a.example");
  expect(other.origins).toEqual(["https://a.example"]);
});

test("a page that invents origins fills neither the log nor the memory", () => {
  const { origins, options } = recorded();
  for (let index = 0; index < 10_000; index += 1) warnOfOrigin(options, `https://${index}.example`);
  expect(origins).toHaveLength(20);
  const long = recorded();
  warnOfOrigin(long.options, "x".repeat(100_000));
  expect(String(long.origins[0])).toHaveLength(200);
});
