import type { Approval, ApprovalFilter } from "./store.ts";

const comparedFields = [
  ...(["appName", "chat", "session", "owner", "state", "idempotencyKey", "messageId", "innerSession", "told"] as const),
];

/** Whether a filter wants a row. */
export function matches(row: Approval, filter: ApprovalFilter): boolean {
  if (filter.about && !filter.about.includes(row.id) && !filter.about.includes(row.toolCallId)) return false;
  return comparedFields.every((field) => filter[field] === undefined || filter[field] === row[field]);
}
