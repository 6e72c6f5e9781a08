/**
 * Measures speed and memory, as ratios to other servers in the same run. Absolute numbers depend on the machine.
 *
 *   npm run bench                 all sections
 *   npm run bench -- ws           the sections whose names contain all of these words
 *   npm run bench -- ws approvals
 *   npm run bench -- soak --minutes 480   runs only when it is named
 *   npm run bench -- ws memory --sockets 15000
 *
 * The comment at the top of each section says what it measures. The sections over WebSocket also measure ADK's own
 * server, which is installed into `peers/` when it is first needed.
 */
import { parseArgs } from "node:util";
import { answersAtOnce } from "./answers.ts";
import { chunkCost } from "./chunk-cost.ts";
import { decisions } from "./decisions.ts";
import { likeForLike } from "./like-for-like.ts";
import { longChats } from "./long-chats.ts";
import { longPage } from "./long-page.ts";
import { manyCards } from "./many-cards.ts";
import { neighbour } from "./neighbour.ts";
import { nodes } from "./nodes.ts";
import { reading } from "./reading.ts";
import { scale } from "./scale.ts";
import { soak } from "./soak.ts";
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
  "ws memory": () => wsMemory(sockets),
  neighbour,
  scale,
  nodes,
  answers: answersAtOnce,
  "page long chat": longPage,
  "page many cards": manyCards,
};

const { positionals: wanted, values } = parseArgs({
  allowPositionals: true,
  options: { minutes: { type: "string", default: "10" }, sockets: { type: "string", default: "2000" } },
});
const sockets = Number(values.sockets);
if (!(sockets >= 1000 && sockets <= 19_000)) throw new Error("--sockets must be a number from 1000 to 19000.");
const words = wanted.flatMap((each) => each.split(" "));
const minutes = Number(values.minutes);
if (!(minutes >= 0.5 && minutes <= 10_080)) throw new Error("--minutes must be a number from 0.5 to 10080.");
if (words.includes("soak")) sections["soak"] = () => soak(minutes);
const chosen = Object.entries(sections).filter(([name]) => words.every((word) => name.split(" ").includes(word)));
if (chosen.length === 0) {
  console.error(`There is no section "${words.join(" ")}". The sections are: ${Object.keys(sections).join(", ")}.`);
  process.exitCode = 1;
}
for (const [, measure] of chosen) await measure();
