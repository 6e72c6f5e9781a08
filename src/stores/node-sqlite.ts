import process from "node:process";
import type * as Sqlite from "node:sqlite";
import { requireNode } from "../protocol/require-node.ts";

/** An open SQLite database of Node. */
export type DatabaseSync = Sqlite.DatabaseSync;

/** `node:sqlite`, loaded by a call: an import would fail on an older Node before anything could say why. */
function loadSqlite(): typeof Sqlite {
  const part = "adk-stream-protocol/stores/sqlite";
  requireNode(part, process.versions);
  const sqlite: typeof Sqlite | undefined = process.getBuiltinModule("node:sqlite");
  if (!sqlite) throw new Error(`${part} needs node:sqlite, which this process does not have.`);
  return sqlite;
}

export const { DatabaseSync } = loadSqlite();
