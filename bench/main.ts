/**
 * Measures speed and memory, as ratios to other servers in the same run. Absolute numbers depend on the machine.
 *
 *   npm run bench                 all sections
 *   npm run bench -- ws           the sections whose names contain all of these words
 *   npm run bench -- ws approvals
 *
 * The comment at the top of each section says what it measures. The sections over WebSocket also measure ADK's own
 * server, which is installed into `peers/` when it is first needed.
 */
import { chunkCost } from "./chunk-cost.ts";
import { decisions } from "./decisions.ts";
import { likeForLike } from "./like-for-like.ts";
import { longChats } from "./long-chats.ts";
import { longPage } from "./long-page.ts";
import { neighbour } from "./neighbour.ts";
import { reading } from "./reading.ts";
import { scale } from "./scale.ts";
import { sseApprovals } from "./sse-approvals.ts";
import { sseStreams } from "./sse-streams.ts";
import { wsApprovals } from "./ws-approvals.ts";
import { wsMemory } from "./ws-memory.ts";
import { wsStreams } from "./ws-streams.ts";

const sections: Record<string, () => Promise<void>> = {
  "like for like": likeForLike,
  "chunk cost": chunkCost,
  decisions,
  reading,
  "sse streams": sseStreams,
  "sse approvals": sseApprovals,
  "sse long chats": longChats,
  "ws streams": wsStreams,
  "ws approvals": wsApprovals,
  "ws memory": wsMemory,
  neighbour,
  scale,
  "page long chat": longPage,
};

const wanted = process.argv.slice(2);
const chosen = Object.entries(sections).filter(([name]) => wanted.every((word) => name.split(" ").includes(word)));
if (chosen.length === 0) {
  console.error(`There is no section "${wanted.join(" ")}". The sections are: ${Object.keys(sections).join(", ")}.`);
  process.exitCode = 1;
}
for (const [, measure] of chosen) await measure();
