import { logListeners } from "./log-listeners.ts";
import type { SqliteDatabase } from "./sqlite-database.ts";
import { textToLogEntry } from "./sqlite-rows.ts";
import { notOpen, toLogged } from "./logged-entry.ts";
import { sqliteMessages } from "./sqlite-messages.ts";
import { noteChange, requireChat } from "./sqlite-sessions.ts";
import { prepareWithdrawal } from "./sqlite-withdrawal.ts";
import type { LogStore, MessageStore, NewLogEntry } from "./store.ts";

const insertEntry = "INSERT INTO log (chat, sequence, at, entry) VALUES (?, ?, ?, ?)";
const insertOpenTurn = "INSERT INTO openTurn (chat, turn, sequence) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
const insertEndedTurn = `INSERT INTO endedTurn (chat, turn, sequence, last, at, appName)
   SELECT chat, turn, sequence, ?3, ?4, (SELECT appName FROM session WHERE id = ?1)
   FROM openTurn WHERE chat = ?1 AND turn = ?2`;
const deleteOpenTurn = "DELETE FROM openTurn WHERE chat = ? AND turn = ?";

/** A log that can let go of what it holds in memory. */
interface SqliteLog extends LogStore, MessageStore {
  /** Forgets the last sequence number of a chat, which is about to be deleted. */
  forget(chat: string): void;
  /** Tells the watchers of a chat that it was deleted. */
  notifyDeleted(chat: string): void;
  clearListeners(): void;
}

/** The tables `log` and `openTurn`, and the table `message`, which each append keeps in step with them. */
export function sqliteLog(db: SqliteDatabase, { now }: { now: () => number }): SqliteLog {
  const listeners = logListeners();
  const { applyEntry, ...messages } = sqliteMessages(db);
  // Of the chats that are being written to. No other process writes to the database, so the numbers stay true.
  const lastSequences = new Map<string, number>();
  const readLastSequence = (chat: string): number =>
    Number(db.one("SELECT max(sequence) AS last FROM log WHERE chat = ?", chat)?.["last"] ?? 0);

  return {
    async append(chat, entries, withdrawal) {
      const withdraw = withdrawal && prepareWithdrawal(db, chat, withdrawal, now);
      const texts = entries.map((entry) => ({ entry, text: JSON.stringify(toLogged(entry)) }));
      let last = 0;
      let at = 0;
      const add = () => {
        const known = lastSequences.get(chat);
        if (known === undefined) requireChat(db, chat);
        last = known ?? readLastSequence(chat);
        at = now();
        // Unknown until the transaction has succeeded.
        lastSequences.delete(chat);
        withdraw?.();
        for (const [index, { entry, text }] of texts.entries()) {
          const sequence = last + index + 1;
          db.run(insertEntry, chat, sequence, at, text);
          applyEntry(chat, entry, sequence, at);
          if (entry.kind === "begin") db.run(insertOpenTurn, chat, entry.turn, sequence);
          if (entry.kind === "begin" || entry.kind === "end") noteChange(db, chat, at);
          if (entry.kind !== "end") continue;
          if (db.run(insertEndedTurn, chat, entry.turn, sequence, at) === 0) throw notOpen(entry.turn);
          db.run(deleteOpenTurn, chat, entry.turn);
        }
      };
      const remember = () => {
        // Not remembered after the end of a turn, so that the map does not grow with the number of chats.
        if (entries.at(-1)?.kind === "end") lastSequences.delete(chat);
        else lastSequences.set(chat, last + entries.length);
      };
      // By far the most frequent write: one statement is a transaction by itself.
      if (entries.length === 1 && entries[0]?.kind === "chunk" && !withdraw)
        await db.writeAlone("NORMAL", add, remember);
      else await db.transaction(withdraw || entries.some(mustSync) ? "FULL" : "NORMAL", add, remember);
      const stored = texts.map(({ text }, index) => textToLogEntry(text, last + index + 1, at));
      if (stored.length > 0) listeners.notify(chat, { entries: stored });
      return stored;
    },

    async read(chat, { after = 0, limit = Infinity } = {}) {
      const rows = db.all(
        "SELECT sequence, at, entry FROM log WHERE chat = ? AND sequence > ? ORDER BY sequence LIMIT ?",
        ...[chat, after, limit === Infinity ? -1 : limit],
      );
      return rows.map((row) => textToLogEntry(String(row["entry"]), Number(row["sequence"]), Number(row["at"])));
    },

    async lastSequence(chat) {
      return lastSequences.get(chat) ?? readLastSequence(chat);
    },

    watch: listeners.watch,

    ...messages,

    async openTurns({ chat, appName } = {}) {
      const rows = db.all(
        `SELECT chat, turn, sequence FROM openTurn
         WHERE (?1 IS NULL OR chat = ?1)
           AND (?2 IS NULL OR EXISTS (SELECT 1 FROM session WHERE id = openTurn.chat AND appName = ?2))
         ORDER BY opened`,
        ...[chat ?? null, appName ?? null],
      );
      return rows.map((row) => ({ ...row }) as { chat: string; turn: string; sequence: number });
    },

    forget(chat) {
      lastSequences.delete(chat);
    },

    notifyDeleted(chat) {
      listeners.notify(chat, { isDeleted: true });
    },

    clearListeners() {
      listeners.clear();
    },
  };
}

/** The user's message and the end of a turn must survive a power cut; the end also syncs the chunks before it. */
function mustSync(entry: NewLogEntry): boolean {
  return entry.kind === "begin" ? entry.message !== undefined : entry.kind !== "chunk";
}
