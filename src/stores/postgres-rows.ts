import { dueAt } from "./apply-change.ts";
import { fromPostgresText } from "./postgres-text.ts";
import { approvalColumns } from "./sqlite-schema.ts";
import type { Approval, AuditEntry, Session } from "./store.ts";

/** A row of PostgreSQL. NULL stands for an absent field, and JSON is text. */
export type Row = Record<string, unknown>;
export type Value = string | number | boolean | null | Uint8Array | readonly (string | number | boolean | null)[];

/** A field of a row is a column of the same name, in PostgreSQL's usual form. */
export function columnOf(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

const fields = Object.keys(approvalColumns) as (keyof Approval)[];
const columns = fields.map((field) => ({ field, column: columnOf(field) }));
const movingFields = fields.filter((field) => approvalColumns[field] === "moves");
const jsonFields: ReadonlySet<string> = new Set<keyof Approval>([
  ...(["card", "payload", "interim", "outcome", "stateDelta", "actions"] as const),
]);
const booleanFields: ReadonlySet<string> = new Set<keyof Approval>(["external", "gated", "told", "shown"]);
const numberFields: ReadonlySet<string> = new Set<keyof Approval>([
  ...(["startMs", "reportMs", "createdAt", "expiresAt", "startBy", "decidedAt"] as const),
  ...(["fence", "leaseUntil", "reportBy", "finishedAt"] as const),
]);

/** The columns that are written when a row is added, or with `moves` when it changes, each with its SQL type. */
export function writtenColumns(only?: "moves"): { field: keyof Approval | "dueAt"; column: string; type: string }[] {
  const written = (only ? movingFields : fields).map((field) => ({
    field,
    column: columnOf(field),
    type: booleanFields.has(field) ? "boolean" : numberFields.has(field) ? "bigint" : "text",
  }));
  return [...written, { field: "dueAt" as const, column: "due_at", type: "bigint" }];
}

/** A field of an approval as the value of its column. */
export function fieldToValue(row: Approval, field: keyof Approval | "dueAt"): string | number | boolean | null {
  if (field === "dueAt") return dueAt(row) ?? null;
  const value = row[field];
  if (value === undefined) return null;
  if (jsonFields.has(field)) return JSON.stringify(value) ?? null;
  return value as string | number | boolean;
}

export function rowToApproval(row: Row): Approval {
  const approval: Row = {};
  for (const { field, column } of columns) {
    const value = row[column];
    if (value === null || value === undefined) continue;
    approval[field] = jsonFields.has(field)
      ? parse(value)
      : typeof value === "string"
        ? fromPostgresText(value)
        : value;
  }
  // A call that was kept when its reply was made again is shown in another message than the one it was made in.
  if (typeof row["placed_in"] === "string") approval["messageId"] = fromPostgresText(row["placed_in"]);
  return approval as unknown as Approval;
}

export const sessionColumns = "id, chat, owner, name, title, app_name, state, revision, created_at, updated_at";

export function rowToSession(row: Row): Session {
  return {
    ...{ id: text(row["id"]), chat: text(row["chat"]), owner: text(row["owner"]), appName: text(row["app_name"]) },
    ...(row["name"] !== null && { name: text(row["name"]) }),
    ...(row["title"] !== null && { title: text(row["title"]) }),
    ...{ state: parse(row["state"]), revision: Number(row["revision"]) },
    ...{ createdAt: Number(row["created_at"]), updatedAt: Number(row["updated_at"]) },
  };
}

export function rowToAuditEntry(row: Row): AuditEntry {
  return {
    ...{ sequence: Number(row["sequence"]), at: Number(row["at"]), approvalId: text(row["approval_id"]) },
    ...{ event: row["event"] as AuditEntry["event"], state: row["state"] as AuditEntry["state"] },
    ...(row["by"] !== null && { by: text(row["by"]) }),
    ...{ digest: text(row["digest"]), hash: text(row["hash"]) },
  };
}

export function text(value: unknown): string {
  return fromPostgresText(String(value));
}

export function parse(value: unknown) {
  return JSON.parse(fromPostgresText(String(value)));
}
