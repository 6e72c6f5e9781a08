/**
 * A proxy cuts the connection of a page in the middle of an approval, at many different bytes. Wherever it was cut, the
 * decision counts, the payment is made once, and the page shows what the server has. `npm run cuts` tries every byte.
 */
import process from "node:process";
import { describe, expect, it } from "vitest";
import { converse, type Cut, cutRules } from "../fixtures/cut-conversation.ts";
import { openCutProxy, type Side } from "../fixtures/cut-proxy.ts";
import { patience } from "../fixtures/nodes.ts";
import { majors } from "../fixtures/stock-chat.ts";
import { openWorld } from "../fixtures/world.ts";

const step = Number(process.env["CUT_EVERY"] ?? 16);
/** Conversations at once. Each waits for the network some of the time. */
const atOnce = 4;
const timeout = (3_200_000 / step) * patience;

describe.each(["sse", "websocket"] as const)("an approval over %s", (over) => {
  it.each<Side>(["server", "client"])(
    "ends right wherever the bytes of the %s are cut",
    async (from) => {
      const world = await openWorld({ rules: cutRules, bridge: { live: { model: "gemini-2.5-flash" } } });
      const problems: string[] = [];
      let next = 0;
      /** How many bytes the first conversation had, which is not cut. */
      let size = Infinity;
      const work = async () => {
        const proxy = await openCutProxy(world.server.url);
        while (next * step <= size) {
          const index = next++;
          const [major, ai] = majors[index % 2] ?? majors[0];
          const cut: Cut | undefined = index === 0 ? undefined : { from, bytes: index * step, all: index % 3 === 0 };
          const before = proxy.bytes[from];
          const id = `payee ${index}`;
          const found = await converse({ ai, over, world, proxy, id, approved: index % 4 < 2, ...(cut && { cut }) });
          if (!cut) size = proxy.bytes[from] - before;
          for (const problem of found) problems.push(`${major}, ${JSON.stringify(cut)}: ${problem}`);
        }
        await proxy.close();
      };
      await Promise.all(Array.from({ length: atOnce }, work));
      expect(problems).toEqual([]);
      expect(next).toBeGreaterThan(1000 / step);
    },
    timeout,
  );
});
