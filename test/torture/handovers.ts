import pg from "pg";
import type { LogEntry } from "../../src/stores/index.ts";

interface Left {
  chat: string;
  /** The last number of its log then. */
  sequence: number;
  /** By the clock of the database. */
  at: number;
}

/** How long turns stand still whose node dies or is paused in the middle of them. */
export class Handovers {
  readonly #url: string;
  readonly #left: Left[] = [];

  constructor(url: string) {
    this.#url = url;
  }

  /** Notes the chats in which a node has a turn. Call it when the node can write nothing more. */
  async note(node: string): Promise<void> {
    const client = new pg.Client({ connectionString: this.#url });
    await client.connect();
    try {
      const { rows } = await client.query<{ id: string; last_sequence: string; now: string }>(
        `SELECT id, last_sequence, extract(epoch FROM clock_timestamp()) * 1000 AS now FROM adk_stream_protocol.session
         WHERE lease_node = $1 AND id IN (SELECT chat FROM adk_stream_protocol.open_turn)`,
        [node],
      );
      for (const { id, last_sequence, now } of rows)
        this.#left.push({ chat: id, sequence: Number(last_sequence), at: Number(now) });
    } finally {
      await client.end();
    }
  }

  /** The time until the log of each of these chats went on, shortest first. */
  measure(chats: readonly { id: string; log: readonly LogEntry[] }[]): number[] {
    const logs = new Map(chats.map(({ id, log }) => [id, log]));
    return this.#left
      .flatMap(({ chat, sequence, at }) => {
        const next = logs.get(chat)?.find((entry) => entry.sequence > sequence);
        return next ? [next.at - at] : [];
      })
      .toSorted((a, b) => a - b);
  }
}
