import type { DatabaseSync } from "node:sqlite";

/** True if this Node binds values to `?1` and `?2` by their numbers. Node 22 refuses to. */
export function bindsNumbers(db: DatabaseSync): boolean {
  try {
    return db.prepare("SELECT ?2 AS second").get(1, 2)?.["second"] === 2;
  } catch {
    return false;
  }
}

/** The same statement with a `?` for each number, and which value belongs to each of them. */
export function withoutNumbers(sql: string): { sql: string; order: readonly number[] | undefined } {
  const order: number[] = [];
  const spread = sql.replaceAll(/\?(\d+)/g, (_, number: string) => {
    order.push(Number(number) - 1);
    return "?";
  });
  return order.length === 0 ? { sql, order: undefined } : { sql: spread, order };
}
