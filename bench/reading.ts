/**
 * Reading requests with a chat's history. The largest request is read in slices, and other work runs between them: how long
 * is the longest slice? And what does reading a small request cost, compared with parsing and checking all of it?
 */
import { performance } from "node:perf_hooks";
import { parseChatRequest, parseJson } from "adk-stream-protocol/protocol";
import { interpret } from "../src/server/interpret.ts";
import { ChatText, maxHistoryBytes } from "../src/server/read-chat.ts";
import { median, ratio, verdict } from "./figures.ts";

const maxNewBytes = 4 * 1024 * 1024;
const rounds = 5;

const user = { id: "u", role: "user", parts: [{ type: "text", text: "And now?" }] };
const yes = {
  id: "a",
  role: "assistant",
  parts: [
    { type: "text", text: "Shall I pay?" },
    {
      type: "tool-pay",
      toolCallId: "c",
      state: "approval-responded",
      input: {},
      approval: { id: "apr", approved: true },
    },
  ],
};

/** Old messages of which the largest request is full, and what is new in it. */
const histories: Record<string, { old: (index: number) => string; last: object; messageId?: string }> = {
  "short messages, then text": { old: shortMessage, last: user },
  "short messages, then a yes": { old: shortMessage, last: yes, messageId: "a" },
  "outputs of 1 MB, then text": { old: longOutput, last: user },
  "outputs of 1 MB, then a yes": { old: longOutput, last: yes, messageId: "a" },
  "empty objects, then a yes": { old: () => "{}", last: yes, messageId: "a" },
  "tiny members, then text": { old: () => `{${'"":0,'.repeat(100_000)}"":0}`, last: user },
};

/** Requests of ordinary size. */
const small: Record<string, object> = {
  "one message": { id: "c", messages: [user], trigger: "submit-message" },
  "one answer": { id: "c", messages: [yes], trigger: "submit-message", messageId: "a" },
  "20 messages": { id: "c", messages: [...conversation(20), user], trigger: "submit-message" },
  "200 messages": { id: "c", messages: [...conversation(200), user], trigger: "submit-message" },
};

/** Measures and prints. */
export async function reading(): Promise<void> {
  console.log(`\nReading a request of 32 MiB, milliseconds of CPU time, the best of ${rounds} rounds`);
  for (const [name, history] of Object.entries(histories)) {
    const bytes = fill(history);
    const runs: { total: number; longest: number }[] = [];
    for (let round = 0; round < rounds; round++) runs.push(await timeSlices(() => read(bytes)));
    const longest = Math.min(...runs.map((run) => run.longest));
    const total = Math.min(...runs.map((run) => run.total));
    const figures = `${total.toFixed(0).padStart(6)} in all, ${longest.toFixed(1).padStart(5)} the longest slice`;
    console.log(`  ${name.padEnd(28)}${figures}${verdict("< 10", longest < 10)}`);
  }
  console.log("\nReading a request of ordinary size, microseconds: only what is new | all of it");
  for (const [name, body] of Object.entries(small)) {
    const text = JSON.stringify(body);
    const bytes = Buffer.from(text);
    const [partly, wholly]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds * 4; round++) {
      partly.push(await timeMany(() => read(bytes)));
      wholly.push(await timeMany(async () => readWhole(bytes)));
    }
    const [mine, before] = [median(partly), median(wholly)];
    const figures = `${mine.toFixed(1).padStart(7)} | ${before.toFixed(1).padStart(7)}   ${ratio(mine, before)} ×`;
    console.log(`  ${name.padEnd(28)}${figures}`);
  }
}

async function read(bytes: Uint8Array): Promise<unknown> {
  return interpret(parseChatRequest(await new ChatText(bytes, { maxNewBytes }).read()));
}

function readWhole(bytes: Uint8Array): unknown {
  const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  return interpret(parseChatRequest(parseJson(text, { maxDepth: 64 })));
}

/** The time of some work, and the longest time in it without a turn of the event loop. Other processes do not count. */
async function timeSlices(work: () => Promise<unknown>): Promise<{ total: number; longest: number }> {
  const began = cpuTime();
  let last = began;
  let longest = 0;
  let isOver = false;
  const tick = () => {
    const now = cpuTime();
    longest = Math.max(longest, now - last);
    last = now;
    if (!isOver) setImmediate(tick);
  };
  setImmediate(tick);
  await work();
  const total = cpuTime() - began;
  isOver = true;
  longest = Math.max(longest, cpuTime() - last);
  return { total, longest };
}

function cpuTime(): number {
  const { user: own, system } = process.threadCpuUsage();
  return (own + system) / 1000;
}

/** The time of one of many runs, in microseconds. */
async function timeMany(work: () => Promise<unknown>): Promise<number> {
  const runs = 300;
  const began = performance.now();
  for (let run = 0; run < runs; run++) await work();
  return ((performance.now() - began) / runs) * 1000;
}

function fill({ old, last, messageId }: (typeof histories)[string]): Buffer {
  const tail = `${JSON.stringify(last)}],"trigger":"submit-message"${messageId ? `,"messageId":"${messageId}"` : ""}}`;
  const messages: string[] = [];
  let size = tail.length + 100;
  for (let index = 0; ; index++) {
    const message = old(index);
    size += message.length + 1;
    if (size > maxHistoryBytes) break;
    messages.push(message);
  }
  return Buffer.from(`{"id":"c","messages":[${messages.join()},${tail}`);
}

function shortMessage(index: number): string {
  const text = `This is what was said at number ${index}.`;
  return JSON.stringify({
    id: `m${index}`,
    role: index % 2 === 0 ? "user" : "assistant",
    parts: [{ type: "text", text }],
  });
}

function longOutput(index: number): string {
  const part = { type: "tool-read", toolCallId: `c${index}`, state: "output-available", output: "x".repeat(1_000_000) };
  return JSON.stringify({ id: `m${index}`, role: "assistant", parts: [part] });
}

function conversation(length: number): unknown[] {
  return Array.from({ length }, (_, index) => JSON.parse(shortMessage(index)) as unknown);
}
