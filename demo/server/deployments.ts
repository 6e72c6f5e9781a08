import { randomBytes } from "node:crypto";
import { DatabaseSync } from "node:sqlite";

/** What to deploy, and where. */
export interface DeploymentOrder {
  service: string;
  environment: string;
}

/** What a deployment says when it has begun. */
export interface Started {
  status: "deploying";
  message: string;
  deployment: string;
}

export type Report =
  | { result: { status: "live"; deployment: string; service: string; environment: string } }
  | { error: string };

/** Takes a report. Rejects with `code: "conflict"` if the call has another outcome, and otherwise if it may be tried again. */
export type TakeReport = (owner: string, key: string, report: Report) => Promise<unknown>;

/**
 * A service outside the agent that takes its time and then reports what came of each deployment. It keeps them in a file, so
 * it also reports those that were begun before a restart.
 */
export interface Deployments {
  /** Begins a deployment, or finds the one that was begun with this key. */
  begin(owner: string, key: string, order: DeploymentOrder): Started;
  /** Reports the deployments that have ended. */
  reportEnded(take: TakeReport): Promise<void>;
  close(): void;
}

/** Opens the deployments in a SQLite file. Each takes `takesMs`. */
export function openDeployments(path: string, takesMs: number, now: () => number = Date.now): Deployments {
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
    begin(owner, key, { service, environment }) {
      // A service with “silent” in its name never reports, so that a visitor can see a call whose outcome is not known.
      const endsAt = /silent/i.test(service) ? Number.MAX_SAFE_INTEGER : now() + takesMs;
      insert.run(key, `dep_${randomBytes(4).toString("hex")}`, owner, service, environment, endsAt);
      const deployment = String(byKey.get(key)?.["id"]);
      return { status: "deploying", message: `Rolling out to ${environment}.`, deployment };
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
          // The call has another outcome, or its chat is gone: there is no one to tell.
          if (["conflict", "not_found"].includes(String((error as { code?: unknown }).code))) markReported.run(key);
          else throw error;
        } finally {
          onTheWay.delete(key);
        }
      }
    },
    close: () => db.close(),
  };
}

/** A service with “broken” in its name fails, so that a visitor can see this too. */
function reportOf(row: Record<string, unknown>): Report {
  const [deployment, service, environment] = ["id", "service", "environment"].map((name) => String(row[name]));
  if (/broken/i.test(service ?? "")) return { error: "The health check failed. The old version runs again." };
  return {
    result: { status: "live", deployment: deployment ?? "", service: service ?? "", environment: environment ?? "" },
  };
}
