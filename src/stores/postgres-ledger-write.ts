import type { PostgresDatabase } from "./postgres-database.ts";
import { fieldToValue, text, writtenColumns } from "./postgres-rows.ts";
import type { Approval, AuditEntry } from "./store.ts";

/** The changes of several chats to approvals and audits. */
export interface LedgerBatch {
  at: number;
  chats: Map<string, ChatChange>;
  updates: Map<string, { row: Approval; version: number }>;
  inserts: Map<string, Approval>;
  audit: { chat: string; entry: AuditEntry }[];
}

interface ChatChange {
  /** The number of the last audit entry, as it was read. */
  before: number;
  after: { sequence: number; hash: string };
  /** The fence of this node, or zero if any node may make the changes. */
  fence: number;
  /** True if the chat has changed for the list of chats. */
  isChanged: boolean;
}

const moving = writtenColumns("moves");
const inserted = writtenColumns();
const auditFields = [
  ...(["chat text", "sequence bigint", "at bigint", "approval_id text", "event text"] as const),
  ...(["state text", "by text", "digest text", "hash text"] as const),
].map((each) => each.split(" ") as [string, string]);

/** A chat is done if all of its rows are as they were read. */
const rowsOkSql = `row_ok AS MATERIALIZED (
  SELECT approval.id, approval.chat FROM chat_ok JOIN update_in ON update_in.chat = chat_ok.id
    JOIN approval ON approval.id = update_in.id
  WHERE approval.version = update_in.version
  ORDER BY approval.id FOR UPDATE OF approval),
done AS MATERIALIZED (
  SELECT id FROM chat_ok
  WHERE (SELECT count(*) FROM update_in WHERE chat = chat_ok.id) = (SELECT count(*) FROM row_ok WHERE chat = chat_ok.id)),
updated AS (
  UPDATE approval SET version = approval.version + 1,
    ${moving.map(({ column }) => `${column} = update_in.${column}`).join(", ")}
  FROM update_in JOIN done ON done.id = update_in.chat WHERE approval.id = update_in.id)`;

/**
 * All changes as one statement. Chats are locked in one order, so that two nodes do not wait for each other. A chat whose
 * audit has grown since it was read, or one of whose rows has changed, keeps everything as it is.
 */
const sqlOf = {
  updates: buildSql({ updates: true, inserts: false }),
  inserts: buildSql({ updates: false, inserts: true }),
  both: buildSql({ updates: true, inserts: true }),
};

/** Writes the changes, each chat's alone, and returns the chats whose changes were made. */
export async function writeLedger(db: PostgresDatabase, batch: LedgerBatch, node: string): Promise<Set<string>> {
  const chats = [...batch.chats];
  const updates = [...batch.updates.values()];
  const inserts = [...batch.inserts.values()];
  const kind = inserts.length === 0 ? "updates" : updates.length === 0 ? "inserts" : "both";
  const rows = await db.query(
    sqlOf[kind],
    [
      ...[node, batch.at],
      chats.map(([chat]) => chat),
      chats.map(([, { before }]) => before),
      chats.map(([, { after }]) => after.sequence),
      chats.map(([, { after }]) => after.hash),
      chats.map(([, { fence }]) => fence),
      chats.map(([, { isChanged }]) => isChanged),
      ...(kind === "inserts"
        ? []
        : [
            updates.map(({ row }) => row.id),
            updates.map(({ row }) => row.chat),
            updates.map(({ version }) => version),
            ...moving.map(({ field }) => updates.map(({ row }) => fieldToValue(row, field))),
          ]),
      ...(kind === "updates" ? [] : inserted.map(({ field }) => inserts.map((row) => fieldToValue(row, field)))),
      ...auditFields.map(([column]) => batch.audit.map((each) => auditValue(each, column))),
    ],
    { once: true },
  );
  return new Set(rows.map((row) => text(row["id"])));
}

function auditValue({ chat, entry }: LedgerBatch["audit"][number], column: string): string | number | null {
  if (column === "chat") return chat;
  if (column === "approval_id") return entry.approvalId;
  return entry[column as Exclude<keyof AuditEntry, "approvalId">] ?? null;
}

function buildSql({ updates, inserts }: { updates: boolean; inserts: boolean }): string {
  let last = 0;
  const next = (type: string) => `$${(last += 1)}::${type}`;
  const unnest = (name: string, columns: readonly (readonly [string, string])[]) =>
    `${name} AS (SELECT * FROM unnest(${columns.map(([, type]) => next(`${type}[]`)).join(", ")})
       AS ${name} (${columns.map(([column]) => column).join(", ")}))`;
  const typed = (columns: readonly { column: string; type: string }[]) =>
    columns.map(({ column, type }) => [column, type] as const);
  const [node, at] = [next("text"), next("bigint")];
  const chatIn = unnest("chat_in", [
    ...([
      ["id", "text"],
      ["before", "bigint"],
      ["after", "bigint"],
      ["hash", "text"],
    ] as const),
    ...([
      ["fence", "bigint"],
      ["changed", "boolean"],
    ] as const),
  ]);
  const rowColumns = [["id", "text"], ["chat", "text"], ["version", "bigint"], ...typed(moving)] as const;
  const updateIn = updates ? [unnest("update_in", rowColumns)] : [];
  const insertIn = inserts ? [unnest("insert_in", typed(inserted))] : [];
  const auditIn = unnest("audit_in", auditFields);
  const columns = inserted.map(({ column }) => column);
  const parts = [
    ...[chatIn, ...updateIn, ...insertIn, auditIn],
    `chat_ok AS MATERIALIZED (
  SELECT session.id FROM session JOIN chat_in USING (id)
  WHERE NOT deleted AND audit_sequence = before
    AND (chat_in.fence = 0 OR lease_node = ${node} AND lease_fence = chat_in.fence)
  ORDER BY session.id FOR UPDATE OF session)`,
    ...(updates ? [rowsOkSql] : ["done AS (SELECT id FROM chat_ok)"]),
    ...(inserts
      ? [
          `added AS (
  INSERT INTO approval (${columns.join(", ")})
  SELECT ${columns.map((column) => `insert_in.${column}`).join(", ")}
  FROM insert_in JOIN done ON done.id = insert_in.chat)`,
        ]
      : []),
    `audited AS (
  INSERT INTO audit (${auditFields.map(([column]) => column).join(", ")})
  SELECT ${auditFields.map(([column]) => `audit_in.${column}`).join(", ")}
  FROM audit_in JOIN done ON done.id = audit_in.chat)`,
  ];
  return `WITH ${parts.join(",\n")}
UPDATE session SET audit_sequence = after, audit_hash = hash,
  updated_at = CASE WHEN chat_in.changed THEN ${at} ELSE session.updated_at END
FROM chat_in JOIN done USING (id) WHERE session.id = chat_in.id
RETURNING session.id`;
}
