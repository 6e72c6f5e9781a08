/**
 * One reply of many small text deltas over HTTP, read to its end by `fetch`, all in one process.
 *   - ours: from the model over HTTP through ADK and the log on disk to the client
 *   - ours, from the log: a client that resumes a turn whose chunks are all in the log
 *   - `ai`: `createUIMessageStreamResponse` with the same chunks, on `node:http`
 *   - bare: `node:http` with the same lines and nothing else
 */
import { performance } from "node:perf_hooks";
import { alternate, median, ratio, spread, thousands } from "./figures.ts";
import { firstMatch, openSseStage, type SseStage } from "./sse-stage.ts";
import { deltas, words } from "./words.ts";

const rounds = 5;

/** Measures and prints. */
export async function sseStreams(): Promise<void> {
  const stage = await openSseStage();
  const measured = await alternate(rounds, {
    "ours, whole way": (round) => eventsPerSecond(() => stage.say(`s-${round}`, "talk")),
    "ours, from the log": (round) => resumedEventsPerSecond(stage, `h-${round}`),
    ai: () => eventsPerSecond(() => fetch(stage.ai, { method: "POST" })),
    "bare node:http": () => eventsPerSecond(() => fetch(stage.bare, { method: "POST" })),
  });
  await stage.close();
  const ai = median(measured["ai"] ?? []);
  const bare = median(measured["bare node:http"] ?? []);
  console.log(`\nStream of ${deltas} deltas over HTTP, events per second (median of ${rounds}) and as ratios`);
  for (const [name, values] of Object.entries(measured)) {
    const value = median(values);
    console.log(
      `  ${name.padEnd(20)} ${thousands(value)}   ${ratio(value, ai)} × ai   ${ratio(value, bare)} × bare   ${spread(values)}`,
    );
  }
}

async function eventsPerSecond(request: () => Promise<Response>): Promise<number> {
  const began = performance.now();
  const events = (await (await request()).text()).split("\n\n").length - 1;
  return (events * 1000) / (performance.now() - began);
}

/** Waits until the model has said everything, then reads the turn from its beginning while the model holds it open. */
async function resumedEventsPerSecond(stage: SseStage, chat: string): Promise<number> {
  const first = stage.say(chat, "hold").then((response) => response.text());
  const last = words.at(-1)?.trim() ?? "";
  const resumed = () => fetch(`${stage.ours}/stream/${chat}/stream`);
  for (;;) {
    const probe = await resumed();
    if (probe.status !== 200) continue;
    await firstMatch(probe, last);
    break;
  }
  const began = performance.now();
  const until = await firstMatch(await resumed(), last);
  stage.release();
  await first;
  return (deltas * 1000) / (until - began);
}
