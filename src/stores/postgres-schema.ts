import { createHash } from "node:crypto";
import { type Migration, migrations } from "./postgres-migrations.ts";
import { postgresRules } from "./postgres-rules.ts";
import type { Statements } from "./postgres-database.ts";

export const schema = "adk_stream_protocol";

/** Only one process at a time may change the tables. The number is chosen at random. */
const lockKey = 6_021_842_190_517;

/**
 * Creates or upgrades the tables, unless they are as this release needs them. Several processes may do this at the same
 * moment. Throws if a later release has removed what this one uses.
 */
export async function migratePostgres(statements: Statements, steps: readonly Migration[] = migrations): Promise<void> {
  const { query } = statements;
  const rules = createHash("sha256").update(postgresRules(schema)).digest("hex");
  if (await isUpToDate(query, steps, rules)) return;
  // Not through `transaction`: creating the schema is what makes every other statement possible.
  await query("BEGIN");
  try {
    await query("SELECT pg_advisory_xact_lock($1)", [lockKey]);
    if (!(await isUpToDate(query, steps, rules))) await upgrade(statements, steps, rules);
    await query("COMMIT");
  } catch (error) {
    await query("ROLLBACK").catch(() => undefined);
    throw error;
  }
}

async function isUpToDate(query: Statements["query"], steps: readonly Migration[], rules: string): Promise<boolean> {
  const [table] = await query("SELECT to_regclass($1) IS NOT NULL AS exists", [`${schema}.migration`]);
  if (table?.["exists"] !== true) return false;
  const rows = await query(`SELECT step, since, rules FROM ${schema}.migration ORDER BY step`);
  const since = Math.max(0, ...rows.map((row) => Number(row["since"])));
  if (since > steps.length) {
    throw new Error(
      `A later release has changed the tables in ${schema}: they need a release that knows ${since} migrations, ` +
        `and this one knows ${steps.length}. Run that release, or a later one.`,
    );
  }
  if (rows.length > steps.length) return true;
  return rows.length === steps.length && rows.at(-1)?.["rules"] === rules;
}

async function upgrade({ query, script }: Statements, steps: readonly Migration[], rules: string): Promise<void> {
  // Plain users may work on tables that another user has created, so nothing is created twice.
  const [found] = await query("SELECT to_regnamespace($1) IS NOT NULL AS exists", [schema]);
  if (found?.["exists"] !== true) await query(`CREATE SCHEMA ${schema}`);
  await query(`SET LOCAL search_path = ${schema}`);
  await query(
    `CREATE TABLE IF NOT EXISTS migration (
       step integer PRIMARY KEY, kind text NOT NULL, since integer NOT NULL, rules text, at timestamptz NOT NULL)`,
  );
  const known = (await query("SELECT step FROM migration")).length;
  for (const [index, { kind, since, sql }] of steps.entries()) {
    if (index < known) continue;
    await script(sql);
    await query("INSERT INTO migration (step, kind, since, at) VALUES ($1, $2, $3, clock_timestamp())", [
      ...[index + 1, kind, since],
    ]);
  }
  await script(postgresRules(schema));
  await query("UPDATE migration SET rules = $1 WHERE step = $2", [rules, steps.length]);
}
