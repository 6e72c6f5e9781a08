import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Store } from "adk-stream-protocol/stores";
import { postgresStore } from "adk-stream-protocol/stores/postgres";
import { sqliteStore } from "adk-stream-protocol/stores/sqlite";
import { openDemoDatabase } from "./demo-database.ts";
import type { Deployments } from "./deployments.ts";
import { openPostgresDeployments } from "./postgres-deployments.ts";
import { openPostgresWallet } from "./postgres-wallet.ts";
import type { Settings } from "./settings.ts";
import { openSqliteDeployments } from "./sqlite-deployments.ts";
import { openSqliteWallet } from "./sqlite-wallet.ts";
import type { Wallet } from "./wallet.ts";

/** Everything of the demo that outlives its process. */
export interface Storage {
  store: Store;
  wallet: Wallet;
  deployments: Deployments;
  close(): Promise<void>;
}

/** Opens a PostgreSQL database that several nodes share, or SQLite files for one node. */
export function openStorage(settings: Pick<Settings, "databaseUrl" | "dataDir" | "deployMs">): Promise<Storage> {
  const { databaseUrl, dataDir, deployMs } = settings;
  return databaseUrl === undefined ? openFiles(dataDir, deployMs) : openDatabase(databaseUrl, deployMs);
}

async function openFiles(folder: string, deployMs: number): Promise<Storage> {
  mkdirSync(folder, { recursive: true });
  const wallet = openSqliteWallet(join(folder, "wallet.db"));
  const deployments = openSqliteDeployments(join(folder, "deployments.db"), deployMs);
  const store = sqliteStore({ path: join(folder, "bridge.db") });
  return {
    ...{ store, wallet, deployments },
    async close() {
      await store.close();
      await wallet.close();
      await deployments.close();
    },
  };
}

async function openDatabase(url: string, deployMs: number): Promise<Storage> {
  const database = await openDemoDatabase(url);
  const wallet = await openPostgresWallet(database);
  const deployments = openPostgresDeployments(database, deployMs);
  const store = postgresStore({ url });
  return {
    ...{ store, wallet, deployments },
    async close() {
      await store.close();
      await database.close();
    },
  };
}
