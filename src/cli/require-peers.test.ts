import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { requirePeers } from "./require-peers.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "peers-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function install(place: string, version: string): string {
  const path = join(folder, place, "node_modules/@google/adk");
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, "package.json"), JSON.stringify({ version }));
  return join(folder, place);
}

test("the project's ADK is used if it has one, also from a folder below", async () => {
  const file = join(install("project", "2.0.3"), "src/agents/agent.ts");
  expect(await requirePeers(file, { own: install("own", "2.0.0") })).toBe(file);
});

test("the ADK beside this package is used if the project has none", async () => {
  expect(await requirePeers(join(folder, "agent.ts"), { own: install("own", "2.0.0") })).toBeUndefined();
});

test("without any ADK it is installed, or the sentence says what to install", async () => {
  const file = join(folder, "agent.ts");
  expect(await requirePeers(file, { own: folder, install: async () => "cache/package.json" })).toBe(
    "cache/package.json",
  );
  await expect(requirePeers(file, { own: folder })).rejects.toThrow(
    "@google/adk is not installed. Run npm install @google/adk@~2.0.0 @google/genai ai zod.",
  );
});

test("another version is refused", async () => {
  const file = join(install("project", "1.4.0"), "agent.ts");
  await expect(requirePeers(file, { own: install("own", "2.0.0") })).rejects.toThrow(
    "needs @google/adk ~2.0.0; the project has 1.4.0.",
  );
});
