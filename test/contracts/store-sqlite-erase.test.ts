/** After a deletion the words of a chat are in no byte of any file beside the database. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, test, vi } from "vitest";
import type { Session, Store } from "../../src/stores/index.ts";
import { sqliteStore } from "../../src/stores/sqlite.ts";
import { newApproval } from "./store.ts";

const folders: string[] = [];
const newFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), "erase-"));
  folders.push(folder);
  return folder;
};
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

/** The files of a folder that contain one of the words. */
function filesWith(folder: string, ...words: string[]): string[] {
  return readdirSync(folder).filter((file) => {
    const bytes = readFileSync(join(folder, file));
    return words.some((word) => bytes.includes(word));
  });
}
const gone = (folder: string, ...words: string[]) =>
  vi.waitFor(() => expect(filesWith(folder, ...words)).toEqual([]), { timeout: 5000, interval: 25 });

/** Writes to several chats in turn, in pieces of any size, so that SQLite moves rows between its pages. */
async function talk(store: Store, chats: readonly Session[], rounds: number): Promise<void> {
  let seed = 1;
  const random = () => (seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff) / 0x7fffffff;
  for (let round = 0; round < rounds; round += 1) {
    const chat = chats[Math.floor(random() * chats.length)];
    if (!chat) continue;
    const words = () => `${wordOf(chat)} `.repeat(1 + Math.floor(random() * random() * (random() < 0.05 ? 900 : 40)));
    const turn = `turn ${round}`;
    const message = (id: string, role: "user" | "assistant") => ({
      ...{ id: `${role} ${id}`, role, parts: [{ type: "text" as const, text: words() }] },
    });
    await store.append(chat.id, [
      { turn, kind: "begin", reply: `assistant ${round}`, message: message(String(round), "user") },
      ...Array.from({ length: 3 }, () => ({
        ...{ turn, kind: "chunk" as const, chunk: { type: "text-delta" as const, id: "t", delta: words() } },
      })),
      { turn, kind: "end", message: message(String(round), "assistant") },
    ]);
    await store.appendEvent(chat.id, { id: turn, event: { words: words() }, responses: [], stateDelta: { [turn]: 1 } });
    if (random() < 0.3) {
      const { id } = await store.createApproval(
        newApproval(chat, turn, { input: JSON.stringify(words()), requestedBy: wordOf(chat) }),
      );
      await store.move(id, { event: "deny", by: wordOf(chat), reason: words() });
    }
  }
  for (const chat of chats) await store.setTitle(chat.id, wordOf(chat));
}
const wordOf = (chat: Session) => `WORDOF${chat.name}X`;

describe("the words of a deleted chat", () => {
  test("are gone from all files while the store is open, and others stay", async () => {
    const folder = newFolder();
    const store = sqliteStore({ path: join(folder, "chats.db") });
    const chats: Session[] = [];
    for (let number = 0; number < 8; number += 1)
      chats.push(await store.openChat({ owner: `WORDOF${number}X`, name: String(number), appName: "app" }));
    await talk(store, chats, 150);
    for (const chat of chats.slice(0, 7)) {
      expect(filesWith(folder, wordOf(chat))).not.toEqual([]);
      await store.deleteSession(chat.id);
    }
    await gone(folder, ...chats.slice(0, 7).map(wordOf));
    const [last] = chats.slice(-1) as [Session];
    expect(filesWith(folder, wordOf(last))).toEqual(["chats.db"]);
    expect((await store.messages(last.id)).length).toBeGreaterThan(10);
    // The store goes on as before.
    await store.append(last.id, [{ turn: "next", kind: "begin", reply: "r" }]);
    await store.close();
  });

  test("are gone when the store was closed directly after the deletion", async () => {
    const folder = newFolder();
    const store = sqliteStore({ path: join(folder, "chats.db") });
    const chat = await store.openChat({ owner: "alice", name: "first", appName: "app" });
    await talk(store, [chat], 20);
    await store.deleteSession(chat.id);
    await store.close();
    expect(filesWith(folder, wordOf(chat))).toEqual([]);
  });

  test("go as soon as another program lets them", async () => {
    const folder = newFolder();
    const path = join(folder, "chats.db");
    const store = sqliteStore({ path });
    const chat = await store.openChat({ owner: "alice", name: "first", appName: "app" });
    await talk(store, [chat], 20);
    const reader = new DatabaseSync(path);
    reader.exec("BEGIN; SELECT * FROM message");
    await store.deleteSession(chat.id);
    expect(filesWith(folder, wordOf(chat))).not.toEqual([]);
    reader.exec("COMMIT");
    reader.close();
    await gone(folder, wordOf(chat));
    await store.close();
  });

  test.each(["in the middle of the deletion", "directly after it"])(
    "are gone after kill -9 %s, once the store is open again",
    async (when) => {
      const folder = newFolder();
      const path = join(folder, "chats.db");
      const store = sqliteStore({ path });
      const [chat, other] = [
        await store.openChat({ owner: "alice", name: "first", appName: "app" }),
        await store.openChat({ owner: "alice", name: "second", appName: "app" }),
      ];
      await talk(store, [chat, other], 80);
      await store.close();
      const module = new URL("../../src/stores/sqlite.ts", import.meta.url).href;
      const script = `
        const { sqliteStore } = await import(${JSON.stringify(module)});
        const store = sqliteStore({ path: ${JSON.stringify(path)} });
        const deleting = store.deleteSession(${JSON.stringify(chat.id)});
        ${when === "directly after it" ? "await deleting;" : ""}
        process.kill(process.pid, "SIGKILL");`;
      const flags = ["--disable-warning=ExperimentalWarning", "--experimental-strip-types", "--input-type=module"];
      const child = spawn(process.execPath, [...flags, "--eval", script], { stdio: "inherit" });
      expect(await once(child, "exit")).toEqual([null, "SIGKILL"]);
      expect(filesWith(folder, wordOf(chat))).not.toEqual([]);
      const again = sqliteStore({ path });
      expect(await again.findChat("alice", "first", "app")).toBeUndefined();
      expect(await again.read(chat.id)).toEqual([]);
      expect(await again.auditHashes(chat.id)).not.toEqual([]);
      await gone(folder, wordOf(chat));
      expect((await again.messages(other.id)).length).toBeGreaterThan(10);
      await again.close();
    },
  );
});
