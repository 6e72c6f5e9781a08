/**
 * The CPU time that our code adds to each delta, from ADK's event to the bytes of the response, with the log in memory:
 * the time of a whole reply, less the time of ADK's own run of the same agent. Compared with `createUIMessageStream` of
 * `ai`, which turns the same chunks into the same bytes. All in this process, in turn; the model is in it too.
 */
import { BaseLlm, InMemoryRunner, LlmAgent, LogLevel, setLogLevel, StreamingMode } from "@google/adk";
import { createBridge } from "adk-stream-protocol";
import { createHandler } from "adk-stream-protocol/server";
import { memoryStore } from "adk-stream-protocol/stores/memory";
import { createUIMessageStream, createUIMessageStreamResponse } from "ai";
import { alternate, goal, median } from "./figures.ts";
import { wordsModel } from "./servers/words-model.ts";
import { deltas, words } from "./words.ts";

const rounds = 15;

/** Measures and prints. */
export async function chunkCost(): Promise<void> {
  setLogLevel(LogLevel.ERROR);
  const agent = new LlmAgent({ name: "bench", model: wordsModel(BaseLlm) });
  const bridge = await createBridge({ agent, store: memoryStore() });
  const handle = createHandler({ bridge });
  const runner = new InMemoryRunner({ agent, appName: "bench" });
  const measured = await alternate(
    rounds,
    {
      ours: (round) =>
        cpuTime(async () => {
          const body = JSON.stringify({
            id: `c-${round}`,
            messages: [{ role: "user", parts: [{ type: "text", text: "talk" }] }],
          });
          const headers = { "content-type": "application/json" };
          await (await handle(new Request("http://127.0.0.1/stream", { method: "POST", headers, body }))).text();
        }),
      adk: () =>
        cpuTime(async () => {
          const { id } = await runner.sessionService.createSession({ appName: "bench", userId: "bench" });
          const newMessage = { role: "user", parts: [{ text: "talk" }] };
          const runConfig = { streamingMode: StreamingMode.SSE };
          for await (const _ of runner.runAsync({ userId: "bench", sessionId: id, newMessage, runConfig }));
        }),
      ai: () =>
        cpuTime(async () => {
          const stream = createUIMessageStream({
            execute({ writer }) {
              writer.write({ type: "text-start", id: "t" });
              for (const delta of words) writer.write({ type: "text-delta", id: "t", delta });
              writer.write({ type: "text-end", id: "t" });
            },
          });
          await createUIMessageStreamResponse({ stream }).text();
        }),
    },
    { warmUp: 5 },
  );
  await bridge.close();
  const [ours = 0, adk = 0, ai = 0] = ["ours", "adk", "ai"].map((name) => median(measured[name] ?? []));
  console.log(`\nCPU time per delta, microseconds, median of ${rounds}`);
  console.log(
    `  whole reply ${ours.toFixed(1)}, ADK alone ${adk.toFixed(1)}, ours ${(ours - adk).toFixed(1)}, ai ${ai.toFixed(1)}`,
  );
  console.log(goal("our own cost per chunk ÷ createUIMessageStream", (ours - adk) / ai, { most: 0.25 }));
}

/** Microseconds per delta. */
async function cpuTime(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / deltas;
}
