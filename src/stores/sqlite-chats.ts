import { BridgeError } from "../protocol/index.ts";
import { exactText } from "./apply-change.ts";
import type { SqliteDatabase } from "./sqlite-database.ts";
import { rowToMessage } from "./sqlite-messages.ts";
import { type Row, rowToApproval, rowToSession } from "./sqlite-rows.ts";
import { settledStates } from "./sqlite-approvals.ts";
import { readSession } from "./sqlite-sessions.ts";
import type { Approval, AuditHash, ChatStore, ListedChat, Session } from "./store.ts";

const listedColumns = "id, owner, name, title, appName, createdAt, updatedAt";
/** The chunks that say how a turn ended. */
const lastChunks = "'finish', 'error', 'abort'";

/** The list of chats, pages of what chats have, and what is removed with time. */
export function sqliteChats(db: SqliteDatabase): ChatStore {
  const pendingOf = (chats: readonly string[]) => {
    const rows = db.all(
      `SELECT chat, count(*) AS n FROM approval
       WHERE chat IN (SELECT value FROM json_each(?)) AND state = 'pending' GROUP BY chat`,
      JSON.stringify(chats),
    );
    return new Map(rows.map(({ chat, n }) => [chat, Number(n)]));
  };

  return {
    async listChats({ owner, appName }, { after, limit = Infinity } = {}) {
      const earlier = after ? "AND (updatedAt, id) < (?4, ?5)" : "";
      const rows = db.all(
        `SELECT ${listedColumns} FROM session INDEXED BY chat_of_owner
         WHERE owner = ?1 AND appName = ?3 AND name IS NOT NULL AND deleted = 0 ${earlier}
         ORDER BY updatedAt DESC, id DESC LIMIT ?2`,
        ...[owner, sqlLimit(limit), appName, ...(after ? [after.updatedAt, after.id] : [])],
      );
      const pending = pendingOf(rows.map(({ id }) => String(id)));
      return rows.map((row) => toListedChat(row, pending.get(String(row["id"])) ?? 0));
    },

    async setTitle(chat, title, was) {
      const same = was ? "AND title IS ?3" : "";
      const sql = `UPDATE session SET title = ?1 WHERE id = ?2 AND name IS NOT NULL AND deleted = 0 ${same}`;
      return db.writeAlone("FULL", () => db.run(sql, title, chat, ...(was ? [was.title ?? null] : [])) > 0);
    },

    async appendEvents(sessionId, events) {
      await db.transaction("FULL", () => {
        if (!readSession(db, sessionId)) throw new BridgeError("not_found", `There is no session ${sessionId}.`);
        const last = db.one("SELECT max(position) AS last FROM event WHERE session = ?", sessionId);
        for (const [index, { id, event }] of events.entries()) {
          const position = Number(last?.["last"] ?? 0) + index + 1;
          const sql = "INSERT INTO event (session, position, id, event) VALUES (?, ?, ?, ?)";
          db.run(sql, sessionId, position, exactText(id, "An event's id"), JSON.stringify(event));
        }
      });
    },

    async messagesAfter(chat, { after = 0, limit = Infinity } = {}) {
      const rows = db.all(
        "SELECT * FROM message WHERE chat = ? AND sequence > ? ORDER BY sequence LIMIT ?",
        ...[chat, after, sqlLimit(limit)],
      );
      return rows.map(rowToMessage);
    },

    async approvalPage(filter, { after = 0, limit, maxOutput }) {
      const fields = (["appName", "owner", "chat", "state"] as const).filter((field) => filter[field] !== undefined);
      const where = ["created > ?", ...fields.map((field) => `${field} = ?`)].join(" AND ");
      // `octet_length` does not read the text, which may be large.
      const rows = db.all(
        `SELECT *, state = 'succeeded' AND octet_length(outcome) > ? AS isLarge, octet_length(outcome) AS outputSize,
           CASE WHEN state = 'succeeded' AND octet_length(outcome) > ? THEN NULL ELSE outcome END AS shownOutcome
         FROM (SELECT * FROM approval WHERE ${where} ORDER BY created LIMIT ?)`,
        ...[maxOutput, maxOutput, after, ...fields.map((field) => filter[field] ?? null), limit],
      );
      return rows.map(({ created, isLarge, outputSize, shownOutcome, ...row }) => ({
        position: Number(created),
        approval: rowToApproval({ ...row, outcome: shownOutcome ?? null }) as Approval,
        ...(isLarge === 1 && { outputSize: Number(outputSize) }),
      }));
    },

    async unchangedChats({ appName, before, limit }) {
      const rows = db.all(
        `SELECT * FROM session AS chat INDEXED BY chat_by_age
         WHERE ${ofApp(appName)} updatedAt < ?1 AND name IS NOT NULL AND deleted = 0
           AND NOT EXISTS (SELECT 1 FROM openTurn WHERE chat = chat.id)
           AND NOT EXISTS (SELECT 1 FROM approval WHERE chat = chat.id AND state NOT IN (${settledStates}))
         ORDER BY updatedAt LIMIT ?2`,
        ...[before, limit, ...(appName === undefined ? [] : [appName])],
      );
      return rows.map((row) => rowToSession(row) as Session);
    },

    async trimChunks({ appName, before, limit }) {
      const due = `SELECT chat, turn, sequence, last FROM endedTurn INDEXED BY endedTurn_by_age
        WHERE ${ofApp(appName)} at < ?1 AND NOT EXISTS (
          SELECT 1 FROM approval
          WHERE chat = endedTurn.chat AND dueAt IS NOT NULL AND state IN (${settledStates}))
        ORDER BY at LIMIT ?2`;
      const app = appName === undefined ? [] : [appName];
      if (db.one(due, before, 1, ...app) === undefined) return 0;
      return db.transaction("NORMAL", () => {
        const turns = db.all(due, before, limit, ...app);
        for (const { chat, turn, sequence, last } of turns) {
          db.run(
            `DELETE FROM log WHERE chat = ?1 AND sequence > ?2 AND sequence < ?3
               AND entry ->> '$.turn' = ?4 AND entry ->> '$.kind' = 'chunk'
               AND entry ->> '$.chunk.type' NOT IN (${lastChunks})`,
            ...[chat ?? null, sequence ?? null, last ?? null, turn ?? null],
          );
          db.run("DELETE FROM endedTurn WHERE chat = ? AND last = ?", chat ?? null, last ?? null);
        }
        return turns.length;
      });
    },

    async auditHashes(chat) {
      const rows = db.all("SELECT sequence, hash FROM auditHash WHERE chat = ? ORDER BY sequence", chat);
      return rows.map((row) => ({ ...row }) as unknown as AuditHash);
    },
  };
}

function toListedChat({ name, title, ...row }: Row, pending: number): ListedChat {
  return { ...row, ...(name !== null && { name }), ...(title !== null && { title }), pending } as ListedChat;
}

/** For SQL: only what belongs to the app, whose name is the third value; everything if none is named. */
function ofApp(appName: string | undefined): string {
  return appName === undefined ? "" : "appName = ?3 AND";
}

/** SQLite reads a negative limit as "no limit". */
function sqlLimit(limit: number): number {
  return limit === Infinity ? -1 : limit;
}
