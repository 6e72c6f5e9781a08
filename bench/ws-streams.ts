/**
 * One reply of many small text deltas to one client over a WebSocket, from sending the message to the end of the reply.
 * Each server and the model run in their own processes; the client runs in this one.
 *   - /live: Gemini Live → ADK `runLive` → gate → log on disk → socket
 *   - /live, from the log: the same turn when it has ended, for a client that has read nothing of it
 *   - /run_sse: ADK's own server, the same words → ADK `runAsync` → session in memory → HTTP
 *   - bare ws: the same frames and nothing else
 * Both servers are measured with two models. "Gemini" is the scripted Gemini in its own process, over the Live API or
 * streamed HTTP. "Inside" is a model in the process of the server, so that no connection to a model is measured.
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

/** Measures and prints. */
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

  /** The CPU time of a server per delta, in the same rounds. */
  const cpuTimes: Record<string, number[]> = {};
  const candidate = (
    name: string,
    server: ServerProcess | undefined,
    read: (url: string, round: number) => Reading,
  ) => ({
    [name]:
      server &&
      (async (round: number) => {
        const before = await server.cpuTime();
        const took = await read(server.url, round);
        (cpuTimes[name] ??= []).push(((await server.cpuTime()) - before) / deltas);
        return (deltas * 1000) / took;
      }),
  });
  const talk = (url: string, round: number) => readOverSocket(url, sayFrame(`s-${round}`, "talk"));
  const replay = (url: string, round: number) => readOverSocket(url, { type: "attach", id: `s-${round}`, after: 0 });
  const measured = await alternate(
    rounds,
    {
      ...candidate("/live, Gemini", live, talk),
      ...candidate("/run_sse, Gemini", peer, readRunSse),
      ...candidate("/live, inside", liveInside, talk),
      ...candidate("/live in memory, inside", liveInMemory, talk),
      ...candidate("/run_sse, inside", peerInside, readRunSse),
      ...candidate("/live, from the log", live, replay),
      ...candidate("bare ws", bare, talk),
    },
    { warmUp },
  );
  for (const server of [live, liveInside, liveInMemory, bare, peer, peerInside, gemini]) await server?.stop();
  await rm(directory, { recursive: true });

  const value = (name: string) => (measured[name] ? median(measured[name]) : undefined);
  console.log(
    `\nStream of ${deltas} deltas over a WebSocket, deltas per second (median of ${rounds}, lowest–highest), and CPU microseconds of the server per delta`,
  );
  console.log("  Gemini: scripted, over Live or HTTP; inside: a model in the process of the server");
  for (const [name, values] of Object.entries(measured)) {
    const own = median(values);
    const ofPeer = value(name.endsWith("inside") ? "/run_sse, inside" : "/run_sse, Gemini");
    const againstPeer = ofPeer === undefined ? "" : `   ${ratio(own, ofPeer)} × /run_sse`;
    const cpuTime = median((cpuTimes[name] ?? []).slice(warmUp))
      .toFixed(0)
      .padStart(4);
    console.log(
      `  ${name.padEnd(23)} ${thousands(own)}${againstPeer}   ${ratio(own, value("bare ws") ?? Number.NaN)} × bare ws   ${cpuTime} µs   ${spread(values)}`,
    );
  }
  for (const kind of ["Gemini", "inside"]) {
    const ofPeer = value(`/run_sse, ${kind}`);
    if (ofPeer !== undefined)
      console.log(verdict(`≥ 1.5 × /run_sse, ${kind}`, (value(`/live, ${kind}`) ?? 0) >= 1.5 * ofPeer));
  }
}

/** Milliseconds. */
type Reading = Promise<number>;

/** The time of one reply. The socket is open before the time starts, as on a page. */
export async function readOverSocket(url: string, frame: object): Reading {
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

/** The time of one reply of ADK's own server. */
export async function readRunSse(url: string): Reading {
  const session = await newSession(url);
  const events: string[] = [];
  const began = performance.now();
  await run(url, session, { text: "talk" }, (event) => void events.push(event));
  const took = performance.now() - began;
  expectWords(events);
  return took;
}

/** Throws unless each word came in its own event. */
function expectWords(events: readonly string[]): void {
  let next = 0;
  for (const event of events) if (event.includes(`"${words[next]}"`)) next += 1;
  if (next !== deltas) throw new Error(`Only ${next} of ${deltas} deltas came. The last event was ${events.at(-1)}`);
}
