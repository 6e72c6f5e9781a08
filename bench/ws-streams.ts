/**
 * One reply of many small text deltas to one client over a WebSocket, from sending the message to the end of the reply.
 * Every server and the model are processes of their own; the client is this one.
 *   - /live: Gemini Live → ADK `runLive` → gate → log on disk → socket
 *   - /live, from the log: the same turn when it is over, for a client that has nothing of it
 *   - /run_sse: ADK's own server, the same words → ADK `runAsync` → session in memory → HTTP
 *   - bare ws: the same frames, and nothing behind them
 * The model comes in two kinds, each the same for both. "Gemini" is one scripted process, reached over the wire that each
 * mode has: Live or streamed HTTP. "Inside" is a model in the server's process that yields word by word, so that no
 * model's wire is measured.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { alternate, median, ratio, spread, thousands, verdict } from "./figures.ts";
import { installPeers } from "./peers.ts";
import { newSession, run } from "./run-sse-client.ts";
import { type ServerProcess, startServer } from "./server-process.ts";
import { isDone, sayFrame, SocketClient } from "./socket-client.ts";
import { deltas, words } from "./words.ts";

const rounds = 5;
const warmUp = 2;

export async function wsStreams(): Promise<void> {
  const hasPeers = installPeers();
  const directory = await mkdtemp(join(tmpdir(), "adk-stream-bench-"));
  const gemini = await startServer("scripted-gemini");
  const overWire = { gemini: gemini.url };
  const live = await startServer("bridge", { ...overWire, database: join(directory, "a.db") });
  const liveInside = await startServer("bridge", { database: join(directory, "b.db") });
  const liveInMemory = await startServer("bridge");
  const bare = await startServer("bare-socket");
  const peer = hasPeers ? await startServer("run-sse", overWire) : undefined;
  const peerInside = hasPeers ? await startServer("run-sse") : undefined;

  /** What a server worked for each delta, in the same rounds. */
  const work: Record<string, number[]> = {};
  const side = (name: string, server: ServerProcess | undefined, read: (url: string, round: number) => Reading) => ({
    [name]:
      server &&
      (async (round: number) => {
        const before = await server.worked();
        const took = await read(server.url, round);
        (work[name] ??= []).push(((await server.worked()) - before) / deltas);
        return (deltas * 1000) / took;
      }),
  });
  const talk = (url: string, round: number) => overSocket(url, sayFrame(`s-${round}`, "talk"));
  const replay = (url: string, round: number) => overSocket(url, { type: "attach", id: `s-${round}`, after: 0 });
  const measured = await alternate(
    rounds,
    {
      ...side("/live, Gemini", live, talk),
      ...side("/run_sse, Gemini", peer, overSse),
      ...side("/live, inside", liveInside, talk),
      ...side("/live in memory, inside", liveInMemory, talk),
      ...side("/run_sse, inside", peerInside, overSse),
      ...side("/live, from the log", live, replay),
      ...side("bare ws", bare, talk),
    },
    { warmUp },
  );
  for (const server of [live, liveInside, liveInMemory, bare, peer, peerInside, gemini]) await server?.stop();
  await rm(directory, { recursive: true });

  const value = (name: string) => (measured[name] ? median(measured[name]) : undefined);
  console.log(
    `\nStream of ${deltas} deltas over a WebSocket, deltas per second (median of ${rounds}, lowest–highest), and the server's microseconds of work per delta`,
  );
  console.log("  Gemini: scripted, over the wire each mode has; inside: a model in the server's own process");
  for (const [name, values] of Object.entries(measured)) {
    const own = median(values);
    const ofPeer = value(name.endsWith("inside") ? "/run_sse, inside" : "/run_sse, Gemini");
    const againstPeer = ofPeer === undefined ? "" : `   ${ratio(own, ofPeer)} × /run_sse`;
    const worked = median(work[name]!.slice(warmUp)).toFixed(0).padStart(4);
    console.log(
      `  ${name.padEnd(23)} ${thousands(own)}${againstPeer}   ${ratio(own, value("bare ws")!)} × bare ws   ${worked} µs   ${spread(values)}`,
    );
  }
  for (const kind of ["Gemini", "inside"]) {
    const ofPeer = value(`/run_sse, ${kind}`);
    if (ofPeer !== undefined)
      console.log(verdict(`≥ 1.5 × /run_sse, ${kind}`, value(`/live, ${kind}`)! >= 1.5 * ofPeer));
  }
}

/** Milliseconds. */
type Reading = Promise<number>;

/** The socket is open before the clock starts, as a page's is. */
async function overSocket(url: string, frame: object): Reading {
  const client = await SocketClient.open(url);
  const reply = client.until(isDone);
  const began = performance.now();
  client.send(frame);
  const frames = await reply;
  const took = performance.now() - began;
  await client.close();
  expectWords(frames);
  return took;
}

async function overSse(url: string): Reading {
  const session = await newSession(url);
  const events: string[] = [];
  const began = performance.now();
  await run(url, session, { text: "talk" }, (event) => void events.push(event));
  const took = performance.now() - began;
  expectWords(events);
  return took;
}

/** Each word came in an event of its own. */
function expectWords(events: readonly string[]): void {
  let next = 0;
  for (const event of events) if (event.includes(`"${words[next]}"`)) next += 1;
  if (next !== deltas) throw new Error(`${next} of ${deltas} deltas came; the last event was ${events.at(-1)}`);
}
