import { mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { watchFiles } from "./watch-files.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "watch-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(name: string, text: string, at: number): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  utimesSync(file, at / 1000, at / 1000);
  return file;
}

test("sees what was saved after the load had begun and before the first look", async () => {
  const files = [write("agent.ts", "1", 1000), write("tools.ts", "1", 3000)];
  let changes = 0;
  const end = watchFiles({ files: () => files, since: () => 2000, onChange: () => (changes += 1), everyMs: 5 });
  await vi.waitUntil(() => changes === 1);
  write("agent.ts", "22", 1000);
  await vi.waitUntil(() => changes > 1);
  expect(changes).toBe(2);
  end();
});

test("sees a file that appears and one that is gone", async () => {
  const files = [join(folder, "agent.ts")];
  let changes = 0;
  let looks = 0;
  const list = () => {
    looks += 1;
    return files;
  };
  const end = watchFiles({ files: list, since: () => 2000, onChange: () => (changes += 1), everyMs: 5 });
  await vi.waitUntil(() => looks > 2);
  expect(changes).toBe(0);
  write("agent.ts", "1", 1000);
  await vi.waitUntil(() => changes === 1);
  rmSync(files[0] ?? "");
  await vi.waitUntil(() => changes === 2);
  end();
});
