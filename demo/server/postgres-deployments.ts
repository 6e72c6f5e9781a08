import { type DemoDatabase, nowSql, storable, untilReached } from "./demo-database.ts";
import { type Deployments, isRefused, neverReports, newDeploymentId, reportOf, started } from "./deployments.ts";

/** How long a node may take to report before another one tries. A report that comes twice counts once. */
const reportingMs = 5000;
const atOnce = 20;

/** Opens the deployments in a PostgreSQL database. Several nodes may use it; each report is sent by one of them. */
export function openPostgresDeployments(db: DemoDatabase, takesMs: number): Deployments {
  let asking: Promise<unknown> | undefined;

  const takeEnded = () =>
    db.query(
      `UPDATE deployment SET reporting_until = ${nowSql} + $1
       WHERE key IN (
         SELECT key FROM deployment WHERE NOT reported AND ends_at <= ${nowSql} AND reporting_until < ${nowSql}
         ORDER BY ends_at LIMIT $2 FOR UPDATE SKIP LOCKED
       )
       RETURNING key, id, owner, service, environment`,
      [reportingMs, atOnce],
    );

  return {
    async begin(owner, key, order, signal) {
      const values = [key, newDeploymentId(), owner, storable(order.service), storable(order.environment)];
      const sql = `INSERT INTO deployment (key, id, owner, service, environment, ends_at)
        VALUES ($1, $2, $3, $4, $5, ${nowSql} + $6::bigint) ON CONFLICT DO NOTHING`;
      return untilReached(async () => {
        await db.query(sql, [...values, neverReports(order) ? null : takesMs]);
        const [row] = await db.query("SELECT id FROM deployment WHERE key = $1", [key]);
        return started(String(row?.["id"]), order);
      }, signal);
    },
    async reportEnded(take) {
      // While the database is slow, questions would pile up.
      if (asking) return;
      const rows = takeEnded();
      asking = rows.finally(() => (asking = undefined)).catch(() => undefined);
      for (const row of await rows) {
        const key = String(row["key"]);
        try {
          await take(String(row["owner"]), key, reportOf(row));
        } catch (error) {
          if (isRefused(error)) {
            await db.query("UPDATE deployment SET reported = true WHERE key = $1", [key]);
            continue;
          }
          await db.query("UPDATE deployment SET reporting_until = 0 WHERE key = $1", [key]);
          throw error;
        }
        await db.query("UPDATE deployment SET reported = true WHERE key = $1", [key]);
      }
    },
    close: async () => undefined,
  };
}
