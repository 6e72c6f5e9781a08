/** Reads what the database has after a torture run. */
import pg from "pg";
import { postgresStore } from "../../src/stores/postgres.ts";
import type { StoredEvent } from "../../src/stores/index.ts";
import type { ChatState } from "./check-chat.ts";
import { appName, owner } from "./settings.ts";

export interface DatabaseState {
  chats: ChatState[];
  /** Chats that a node still has, turns without an end, and requests that were posted and not taken back. */
  left: { leases: number; turns: number };
  attempts: number;
  effects: number;
}

export async function readChats(url: string, names: readonly string[]): Promise<DatabaseState> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const store = postgresStore({ url });
  try {
    const count = async (sql: string) => Number((await client.query<{ count: string }>(sql)).rows[0]?.count);
    const left = {
      leases: await count(
        `SELECT count(*) FROM adk_stream_protocol.session
         WHERE lease_node IS NOT NULL AND lease_until > extract(epoch FROM clock_timestamp()) * 1000`,
      ),
      turns: await count("SELECT count(*) FROM adk_stream_protocol.open_turn"),
    };
    const rows = await client.query<{ key: string }>("SELECT key FROM torture.effect");
    const effects = new Map<string, number>();
    for (const { key } of rows.rows) effects.set(key, (effects.get(key) ?? 0) + 1);
    const chats: ChatState[] = [];
    for (const name of names) {
      const chat = await store.findChat(owner, name, appName);
      if (!chat) {
        chats.push({
          ...{ id: "", name, log: [], messages: [], approvals: [], audit: [], events: new Map() },
          effects,
        });
        continue;
      }
      const approvals = await store.listApprovals({ chat: chat.id });
      const events = new Map<string, readonly StoredEvent[]>();
      for (const session of [chat.id, ...approvals.flatMap(({ innerSession }) => innerSession ?? [])])
        events.set(session, await store.events(session));
      chats.push({
        ...{ id: chat.id, name, effects, approvals, events },
        log: await store.read(chat.id),
        messages: await store.messages(chat.id),
        audit: await store.audit(chat.id),
      });
    }
    return { chats, left, attempts: await count("SELECT count(*) FROM torture.attempt"), effects: rows.rows.length };
  } finally {
    await client.end();
    await store.close();
  }
}
