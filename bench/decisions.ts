/** How many decisions per second a store on disk records, made by 16 writers at once: each is synced before it returns. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import type { NewApproval, Store } from "adk-stream-protocol/stores";
import { postgresStore } from "adk-stream-protocol/stores/postgres";
import { sqliteStore } from "adk-stream-protocol/stores/sqlite";
import { startPostgres } from "../scripts/start-postgres.ts";
import { goal, median } from "./figures.ts";

const writers = 16;
const perWriter = 60;
const rounds = 3;

/** Measures and prints. */
export async function decisions(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "adk-stream-bench-"));
  const postgres = await startPostgres().catch((error: unknown) => {
    console.log(`PostgreSQL is left out: ${String(error)}`);
  });
  console.log(`\nDecisions per second, ${writers} writers, median of ${rounds}`);
  try {
    const sqlite = sqliteStore({ path: join(directory, "a.db") });
    console.log(goal("SQLite", await measure(sqlite), { least: 5000 }));
    await sqlite.close();
    if (!postgres) return;
    const store = postgresStore({ url: postgres.url });
    console.log(goal("PostgreSQL", await measure(store), { least: 3000 }));
    await store.close();
  } finally {
    await postgres?.stop();
    await rm(directory, { recursive: true });
  }
}

async function measure(store: Store): Promise<number> {
  const perSecond: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const rows = await Promise.all(
      Array.from({ length: writers }, (_, writer) => questions(store, `${round}-${writer}`)),
    );
    const began = performance.now();
    await Promise.all(
      rows.map(async (ids) => {
        for (const id of ids) await store.move(id, { event: "approve", by: "bench" });
      }),
    );
    perSecond.push((writers * perWriter * 1000) / (performance.now() - began));
  }
  return median(perSecond);
}

/** The ids of questions that wait in a new chat. */
async function questions(store: Store, name: string): Promise<string[]> {
  const { id: chat } = await store.openChat({ owner: "bench", name, appName: "bench" });
  await store.holdChat(chat, 60_000);
  const ids = Array.from({ length: perWriter }, () => crypto.randomUUID());
  await Promise.all(
    ids.map((id, index) => {
      const row: NewApproval = {
        ...{ id, chat, session: chat, owner: "bench", toolCallId: `call-${index}`, toolName: "pay", input: "{}" },
        ...{ digest: id, messageId: "message", agent: "bench", mode: "request", external: false, effect: "opaque" },
        ...{ gated: true, state: "pending", ttlMs: 600_000, startMs: 600_000 },
      };
      return store.createApproval(row);
    }),
  );
  return ids;
}
