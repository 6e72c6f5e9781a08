import type { SQLInputValue, SQLOutputValue } from "node:sqlite";
import { dueAt } from "./apply-change.ts";
import { approvalColumns } from "./sqlite-schema.ts";
import type { Approval, AuditEntry, LogEntry, NewLogEntry, Session } from "./store.ts";

/** A row of SQLite. NULL stands for an absent field, JSON is text, a boolean is 0 or 1. */
export type Row = Record<string, SQLOutputValue>;

const allColumns = Object.keys(approvalColumns) as (keyof Approval)[];
const movingColumns = allColumns.filter((column) => approvalColumns[column] === "moves");
const jsonColumns: ReadonlySet<string> = new Set<keyof Approval>([
  "card",
  "payload",
  "interim",
  "outcome",
  "stateDelta",
  "actions",
]);
const booleanColumns: ReadonlySet<string> = new Set<keyof Approval>(["external", "gated", "told", "shown"]);

export const insertApproval = `INSERT INTO approval (${[...allColumns, "dueAt"].join(", ")})
  VALUES (${[...allColumns, "dueAt"].map((column) => `:${column}`).join(", ")})`;

/** Updates only the version of the row that the change was computed from. */
export const updateApproval = `UPDATE approval
  SET ${[...movingColumns, "dueAt"].map((column) => `${column} = :${column}`).join(", ")}
  WHERE id = :id AND state = :oldState AND fence = :oldFence`;

/** The named parameters of {@link insertApproval}, or of {@link updateApproval} with `moves`. */
export function approvalToParameters(row: Approval, only?: "moves"): Record<string, SQLInputValue> {
  const fields = (only ? movingColumns : allColumns).map((column): [string, SQLInputValue] => {
    const value = row[column];
    if (value === undefined) return [column, null];
    if (jsonColumns.has(column)) return [column, JSON.stringify(value) ?? null];
    return [column, typeof value === "boolean" ? Number(value) : (value as string | number)];
  });
  return { ...Object.fromEntries(fields), dueAt: dueAt(row) ?? null };
}

export function rowToApproval(row: Row | undefined): Approval | undefined {
  if (!row) return undefined;
  const fields = allColumns.flatMap((column): [string, unknown][] => {
    const value = row[column];
    if (value === null || value === undefined) return [];
    if (jsonColumns.has(column)) return [[column, parse(value)]];
    return [[column, booleanColumns.has(column) ? value === 1 : value]];
  });
  // A call that was kept when its reply was made again is shown in another message than the one it was made in.
  const placed = row["placedIn"] ? { messageId: row["placedIn"] } : {};
  return { ...Object.fromEntries(fields), ...placed } as unknown as Approval;
}

export function rowToSession(row: Row | undefined): Session | undefined {
  if (!row) return undefined;
  const { name, title, state, deleted: _deleted, ...fields } = row;
  return {
    ...fields,
    ...(name !== null && { name }),
    ...(title !== null && { title }),
    state: parse(state),
  } as Session;
}

export function rowToAuditEntry(row: Row | undefined): AuditEntry | undefined {
  if (!row) return undefined;
  const { chat: _chat, by, ...fields } = row;
  return { ...fields, ...(by !== null && { by }) } as unknown as AuditEntry;
}

export function textToLogEntry(text: string, sequence: number, at: number): LogEntry {
  return { ...(JSON.parse(text) as NewLogEntry), sequence, at };
}

export function parse(text: SQLOutputValue | undefined) {
  return JSON.parse(String(text));
}
