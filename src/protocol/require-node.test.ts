import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { oldestNode, requireNode } from "./require-node.ts";

test.each(["18.20.4", "20.20.2", "22.4.0", "22.12.9"])("a part that needs a newer Node says so on Node %s", (node) => {
  expect(() => requireNode("adk-stream-protocol/stores/sqlite", { node })).toThrow(
    `adk-stream-protocol/stores/sqlite needs Node 22.13 or newer; this is Node ${node}.`,
  );
});

test.each([{ node: "22.13.0" }, { node: "24.0.0" }, { node: "22.6.0", bun: "1.2.0" }, { deno: "2.5.0" }, {}])(
  "%j is new enough",
  (versions) => {
    expect(() => requireNode("adk-stream-protocol", versions)).not.toThrow();
  },
);

test("package.json names the same version", () => {
  const { engines } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
    engines: { node: string };
  };
  expect(engines.node).toBe(`>=${oldestNode}`);
});
