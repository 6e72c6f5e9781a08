/** What is kept of long chats between their turns, with everything that is made of it, stays within one limit. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createSession, type Event, InvocationContext, LlmAgent, PluginManager } from "@google/adk";
import { GoogleGenAI, type Part } from "@google/genai";
import { expect, test } from "vitest";
import { memoryStore } from "../../stores/memory.ts";
import type { Session } from "../../stores/index.ts";
import { EventCache } from "./event-cache.ts";
import { FinishedContents } from "./finished-contents.ts";
import { keepRequestTexts, type RequestMaker } from "./request-texts.ts";

const MiB = 1024 * 1024;
const chats = 16;
const turns = 60;

const list = Array.from({ length: 10 }, (_, index) => ({ index, value: {} }));
const histories: Record<string, (turn: number) => [string, Part][]> = {
  "short texts": (turn) => [
    ["user", { text: `Question ${turn}` }],
    ["model", { text: `Answer ${turn}: ${"some words ".repeat(20)}` }],
  ],
  "long texts": (turn) => [
    ["user", { text: `Question ${turn}` }],
    ["model", { text: `Answer ${turn}: ${"some words ".repeat(300)}` }],
  ],
  "texts of wide characters": (turn) => [
    ["user", { text: `質問 ${turn}` }],
    ["model", { text: `答え ${turn} ${"日本語の文章".repeat(60)}` }],
  ],
  "calls with many small values": (turn) => [
    ["user", { text: `Question ${turn}` }],
    ["model", { functionCall: { id: `call-${turn}`, name: "find", args: { list } } }],
    ["user", { functionResponse: { id: `call-${turn}`, name: "find", response: { list } } }],
    ["model", { text: `Answer ${turn}` }],
  ],
};

function toEvent([role, part]: [string, Part], id: string) {
  const actions = { stateDelta: {}, artifactDelta: {}, requestedAuthConfigs: {}, requestedToolConfirmations: {} };
  const author = role === "user" && !part.functionResponse ? "user" : "teller";
  return { id, invocationId: id, timestamp: 1, author, actions, content: { role, parts: [part] } };
}

/** A turn of a chat: its events are read, and a request is made of them. */
function openTurns(cache: EventCache) {
  const agent = new LlmAgent({ name: "teller", model: "gemini-2.5-flash" });
  const finished = new FinishedContents(cache, 50);
  const { models } = new GoogleGenAI({ apiKey: "none" });
  const client = models["apiClient"] as unknown as { requestStream: () => Promise<unknown> };
  client.requestStream = async () => (async function* () {})();
  keepRequestTexts(models as unknown as RequestMaker);
  return async (chat: Session): Promise<void> => {
    const said = Object.freeze(toEvent(["user", { text: "Once more." }], "now")) as unknown as Event;
    const events = [...(await cache.events(chat)), said];
    const session = createSession({ id: chat.id, appName: "app", userId: "ann", events });
    const context = new InvocationContext({ invocationId: "i", agent, session, pluginManager: new PluginManager() });
    const request = { contents: [], toolsDict: {}, liveConnectConfig: {} };
    for await (const _ of finished.runAsync(context, request)) continue;
    const { contents } = request;
    for await (const _ of await models.generateContentStream({ model: "gemini-2.5-flash", contents })) continue;
  };
}

async function heap(): Promise<number> {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  for (let round = 0; round < 3; round += 1) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  return process.memoryUsage().heapUsed;
}

test.each(Object.entries(histories))("%s", async (_name, historyOf) => {
  const maxBytes = 2 * MiB;
  const store = memoryStore();
  const opened: Session[] = [];
  for (let index = 0; index < chats; index += 1) {
    const chat = await store.openChat({ owner: "ann", name: `${index}`, appName: "app" });
    const events = Array.from({ length: turns }, (_, turn) => historyOf(turn)).flat();
    await store.appendEvents(
      chat.id,
      events.map((each, place) => ({ id: `e${place}`, event: toEvent(each, `e${place}`) })),
    );
    opened.push(chat);
  }
  // What is loaded for the first chat is not kept for it.
  for (const chat of opened.slice(0, 2)) await openTurns(new EventCache(store, maxBytes))(chat);
  const takeTurn = openTurns(new EventCache(store, maxBytes));
  const before = await heap();
  // The second turn finds what the first one kept, and joins the texts.
  for (const chat of opened) for (let turn = 0; turn < 2; turn += 1) await takeTurn(chat);
  const grown = (await heap()) - before;
  expect(grown).toBeLessThan(maxBytes);
  // It is a cache after all.
  expect(grown).toBeGreaterThan(maxBytes / 8);
});
