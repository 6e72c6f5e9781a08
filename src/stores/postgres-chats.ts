import { settledStates } from "./postgres-approvals.ts";
import type { PostgresDatabase } from "./postgres-database.ts";
import { sqlLimit } from "./postgres-messages.ts";
import { rowToApproval, rowToSession, sessionColumns, text } from "./postgres-rows.ts";
import type { ChatStore, ListedChat } from "./store.ts";

/** The list of chats, pages of what chats have, and what is removed with time. */
export function postgresChats(db: PostgresDatabase): Omit<ChatStore, "appendEvents" | "messagesAfter"> {
  return {
    async listChats(owner, { after, limit = Infinity } = {}) {
      const rows = await db.query(
        `SELECT ${sessionColumns},
           (SELECT count(*) FROM approval WHERE approval.chat = session.id AND approval.state = 'pending') AS pending
         FROM session WHERE owner = $1 AND name IS NOT NULL AND NOT deleted
           ${after ? "AND (updated_at, id) < ($3, $4)" : ""}
         ORDER BY updated_at DESC, id DESC LIMIT $2::bigint`,
        [owner, sqlLimit(limit), ...(after ? [after.updatedAt, after.id] : [])],
      );
      return rows.map((row): ListedChat => {
        const { state: _state, chat: _chat, revision: _revision, ...session } = rowToSession(row);
        return { ...session, pending: Number(row["pending"]) };
      });
    },

    async setTitle(chat, title, was) {
      const rows = await db.query(
        `UPDATE session SET title = $1 WHERE id = $2 AND name IS NOT NULL AND NOT deleted
           ${was ? "AND title IS NOT DISTINCT FROM $3" : ""}`,
        [title, chat, ...(was ? [was.title ?? null] : [])],
      );
      return rows.length > 0;
    },

    async approvalPage(filter, { after = 0, limit, maxOutput }) {
      const fields = (["owner", "chat", "state"] as const).flatMap((field) => {
        const value = filter[field];
        return value === undefined ? [] : [{ field, value }];
      });
      const rows = await db.query(
        `SELECT approval.*, octet_length(outcome) AS output_size
         FROM approval WHERE created > $1 ${fields.map(({ field }, index) => `AND ${field} = $${index + 3}`).join(" ")}
         ORDER BY created LIMIT $2::bigint`,
        [after, limit, ...fields.map(({ value }) => value)],
      );
      return rows.map(({ created, output_size: size, ...row }) => {
        const isLarge = row["state"] === "succeeded" && Number(size ?? 0) > maxOutput;
        return {
          position: Number(created),
          approval: rowToApproval(isLarge ? { ...row, outcome: null } : row),
          ...(isLarge && { outputSize: Number(size) }),
        };
      });
    },

    async unchangedChats({ before, limit }) {
      const rows = await db.query(
        `SELECT ${sessionColumns} FROM session
         WHERE updated_at < $1 AND name IS NOT NULL AND NOT deleted
           AND NOT EXISTS (SELECT 1 FROM open_turn WHERE open_turn.chat = session.id)
           AND NOT EXISTS (
             SELECT 1 FROM approval WHERE approval.chat = session.id AND approval.state NOT IN (${settledStates}))
         ORDER BY updated_at LIMIT $2::bigint`,
        [before, limit],
      );
      return rows.map(rowToSession);
    },

    async trimChunks({ before, limit }) {
      const due = `SELECT chat, turn, sequence, last FROM ended_turn
        WHERE at < $1 AND NOT EXISTS (
          SELECT 1 FROM approval WHERE approval.chat = ended_turn.chat AND due_at IS NOT NULL AND state IN (${settledStates}))
        ORDER BY at, chat, last LIMIT $2::bigint`;
      // Another node may trim at the same time: each turn is trimmed by the one that removes it from the table.
      const rows = await db.query(
        `WITH due AS (${due}), trimmed AS (
           DELETE FROM ended_turn USING due WHERE ended_turn.chat = due.chat AND ended_turn.last = due.last
           RETURNING due.chat, due.turn, due.sequence, due.last),
         removed AS (
           DELETE FROM log USING trimmed
           WHERE log.chat = trimmed.chat AND log.sequence > trimmed.sequence AND log.sequence < trimmed.last
             AND log.turn = trimmed.turn AND NOT log.kept)
         SELECT 1 FROM trimmed`,
        [before, limit],
      );
      return rows.length;
    },

    async auditHashes(chat) {
      const rows = await db.query("SELECT sequence, hash FROM audit_hash WHERE chat = $1 ORDER BY sequence", [chat]);
      return rows.map((row) => ({ sequence: Number(row["sequence"]), hash: text(row["hash"]) }));
    },
  };
}
