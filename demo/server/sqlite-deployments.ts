import { DatabaseSync } from "node:sqlite";
import { type Deployments, isRefused, neverReports, newDeploymentId, reportOf, started } from "./deployments.ts";

/** Opens the deployments in a SQLite file. Each takes `takesMs`. */
export function openSqliteDeployments(path: string, takesMs: number, now: () => number = Date.now): Deployments {
  const db = new DatabaseSync(path);
  db.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA busy_timeout = 5000;
    CREATE TABLE IF NOT EXISTS deployments (
      key TEXT PRIMARY KEY,
      id TEXT NOT NULL,
      owner TEXT NOT NULL,
      service TEXT NOT NULL,
      environment TEXT NOT NULL,
      endsAt INTEGER NOT NULL,
      reported INTEGER NOT NULL DEFAULT 0
    ) STRICT;
  `);
  const insert = db.prepare(
    "INSERT OR IGNORE INTO deployments (key, id, owner, service, environment, endsAt) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const byKey = db.prepare("SELECT * FROM deployments WHERE key = ?");
  const ended = db.prepare("SELECT * FROM deployments WHERE reported = 0 AND endsAt <= ? ORDER BY endsAt");
  const markReported = db.prepare("UPDATE deployments SET reported = 1 WHERE key = ?");
  /** The reports that are on their way. */
  const onTheWay = new Set<string>();

  return {
    async begin(owner, key, order) {
      const endsAt = neverReports(order) ? Number.MAX_SAFE_INTEGER : now() + takesMs;
      insert.run(key, newDeploymentId(), owner, order.service, order.environment, endsAt);
      return started(String(byKey.get(key)?.["id"]), order);
    },
    async reportEnded(take) {
      for (const row of ended.all(now())) {
        const { key, owner } = { key: String(row["key"]), owner: String(row["owner"]) };
        if (onTheWay.has(key)) continue;
        onTheWay.add(key);
        try {
          await take(owner, key, reportOf(row));
          markReported.run(key);
        } catch (error) {
          if (!isRefused(error)) throw error;
          markReported.run(key);
        } finally {
          onTheWay.delete(key);
        }
      }
    },
    close: async () => db.close(),
  };
}
