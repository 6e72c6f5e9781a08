import type { UIMessage } from "ai";
import fc from "fast-check";
import { isToolUIPart } from "ai";
import { describe, expect, it } from "vitest";
import { patience } from "../fixtures/nodes.ts";
import { type Befalls, play } from "../fixtures/play.ts";
import {
  clients,
  openRandomClient,
  type RandomClient,
  storedMessages,
  type TabAct,
} from "../fixtures/random-client.ts";
import { expectSound } from "../fixtures/sound.ts";
import { majors, stockChat } from "../fixtures/stock-chat.ts";
import { storeKinds } from "../fixtures/store-kinds.ts";
import { get } from "../fixtures/world.ts";

type Act = TabAct | Befalls;

/** The number of stories for each store, and where they begin: `npm run random -- --runs 2000 --seed 7`. */
const runs = Number(process.env["RANDOM_RUNS"] ?? 30);
const seed = Number(process.env["RANDOM_SEED"] ?? 1);

const who = { tab: fc.nat(1), waits: fc.nat(3).map((n) => n > 0) };
const words = fc.constantFrom(
  "hello",
  "pay",
  "two payments",
  "mixed",
  "too much",
  "weather",
  "music",
  "where",
  "chain",
);
const which = fc.nat(2);
const send = fc.record({ ...who, do: fc.constant("send" as const), words });
const edit = fc.record({ ...who, do: fc.constant("edit" as const), which, words, cuts: fc.boolean() });
const again = fc.record({
  ...who,
  do: fc.constant("again" as const),
  which,
  how: fc.constantFrom("bare" as const, "named" as const, "cut" as const),
});
const answer = fc.record({
  ...who,
  do: fc.constant("answer" as const),
  approved: fc.boolean(),
  times: fc.integer({ min: 1, max: 2 }),
});
const elsewhere = fc.record({
  ...who,
  do: fc.constant("answer elsewhere" as const),
  which: fc.nat(4),
  approved: fc.boolean(),
});
const result = fc.record({ ...who, do: fc.constant("result" as const) });
const stop = fc.record({ ...who, do: fc.constant("stop" as const), everywhere: fc.boolean() });
const client = fc.nat(clients.length - 1);
const reload = fc.record({ ...who, do: fc.constant("reload" as const), client });
const befalls = fc.constantFrom<Befalls>(
  { do: "slow tools" },
  { do: "quick tools" },
  { do: "wait until idle" },
  { do: "wait until idle" },
  { do: "yield", ticks: 3 },
  { do: "yield", ticks: 20 },
  { do: "restart" },
  { do: "crash" },
);

/** Single acts, and short scenes of one tab that rarely happen by chance. */
const story: fc.Arbitrary<Act[]> = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: send.map((one): Act[] => [one]) },
      { weight: 3, arbitrary: fc.oneof(edit, again).map((one): Act[] => [one]) },
      { weight: 3, arbitrary: fc.oneof(answer, answer, elsewhere, result).map((one): Act[] => [one]) },
      { weight: 2, arbitrary: fc.oneof(stop, reload).map((one): Act[] => [one]) },
      { weight: 2, arbitrary: befalls.map((one): Act[] => [one]) },
      {
        weight: 4,
        arbitrary: fc
          .tuple(fc.nat(1), send, fc.oneof(answer, result), fc.oneof(answer, result, edit, again, send))
          .map(([tab, ...acts]) => acts.map((act): Act => ({ ...act, tab, waits: true }))),
      },
    ),
    { minLength: 3, maxLength: 9 },
  )
  .map((scenes) => scenes.flat());

/** What one patient person does in one tab. The tab sees everything, so it must show in the end what the server has. */
const patient = story.map((acts) =>
  acts
    .filter((act) => !["slow tools", "crash", "answer elsewhere", "stop"].includes(act.do))
    .map((act): Act => ("tab" in act ? { ...act, tab: 0, waits: true } : act)),
);

const at = (tab: number, waits: boolean) => ({ tab, waits });

/** A failure that this test found: a turn that was stopped by an edit made a row after the edit had read the rows. */
const lateRow: Act[] = [
  { do: "send", words: "hello", ...at(0, true) },
  { do: "send", words: "hello", ...at(0, true) },
  { do: "send", words: "hello", ...at(1, false) },
  { do: "send", words: "music", ...at(0, false) },
  { do: "send", words: "hello", ...at(1, false) },
];

const wordsOf = ({ parts }: UIMessage) => parts.flatMap((part) => (part.type === "text" && part.text ? part.text : []));

/** What a person reads: who said what, in order. */
const read = (messages: readonly UIMessage[]) =>
  messages.flatMap((message) =>
    wordsOf(message).map((text) => `${message.role === "user" ? "user" : "model"}: ${text}`),
  );

/** The calls with their states. What `data-approval` says counts: AI SDK 6 has no chunk for a question that was cancelled. */
function callsOn(messages: readonly UIMessage[]): Record<string, string> {
  const states: Record<string, string> = {};
  const parts = messages.flatMap((message) => message.parts);
  for (const part of parts) if (isToolUIPart(part)) states[part.toolCallId] = part.state;
  for (const part of parts) {
    if (part.type !== "data-approval" || !("data" in part)) continue;
    const { toolCallId, state } = part.data as { toolCallId: string; state: string };
    if (toolCallId in states) states[toolCallId] = state;
  }
  return states;
}

async function expectAgreement(random: RandomClient, isWhole: boolean): Promise<void> {
  const { world, tabs, effects, texts } = random;
  await random.untilIdle();
  const stored = await storedMessages(world);
  if (!stored) return;

  // The pages of the messages are the messages.
  const paged: UIMessage[] = [];
  for (let before: string | undefined = ""; before !== undefined;) {
    const query: string = before && `&before=${encodeURIComponent(before)}`;
    const { body } = await get(world, `/stream/chat-1/messages?limit=2${query}`);
    const page = body as { messages: UIMessage[]; before?: string };
    paged.unshift(...page.messages);
    ({ before } = page);
  }
  expect(paged).toEqual(stored);

  // A tab that could see everything shows what the server has.
  for (const [, ai] of majors) if (stored.length > 0) await ai.validateUIMessages({ messages: stored });
  for (const { chat, ai, isCurrent, errors } of tabs) {
    if (chat.messages.length > 0) await ai.validateUIMessages({ messages: chat.messages });
    if (!isCurrent || errors.length > 0) continue;
    expect(read(chat.messages)).toEqual(read(stored));
    expect(callsOn(chat.messages)).toEqual(callsOn(stored));
    expect(chat.messages.map(({ id }) => id)).toEqual(stored.map(({ id }) => id));
  }

  // Effects match the ledger.
  const session = await world.store.findChat("local", "chat-1", "root_agent");
  const rows = session ? await world.store.listApprovals({ chat: session.id }) : [];
  for (const { id, state, toolName } of rows.filter((row) => row.toolName === "process_payment")) {
    const times = effects.filter((key) => key === id).length;
    const told = `${toolName} ${id} is ${state}, and ran ${times} times`;
    if (state === "succeeded" || state === "failed") expect(times, told).toBe(1);
    else if (state === "indeterminate") expect(times, told).toBeLessThanOrEqual(1);
    else expect(times, told).toBe(0);
  }
  expect(effects.filter((key) => !rows.some(({ id }) => id === key))).toEqual([]);
  expect(rows.filter(({ state }) => state === "executing" || state === "approved").map(({ id }) => id)).toEqual([]);

  // The log has no gaps.
  const log = session ? await world.store.read(session.id) : [];
  expect(log.map(({ sequence }) => sequence)).toEqual(log.map((_, index) => index + 1));

  // Every request to the model is well formed, and none contains what was withdrawn before.
  for (const [index, { contents, pairingErrors }] of world.gemini.requests.entries()) {
    expect(pairingErrors).toEqual([]);
    expect(contents[0]?.role).toBe("user");
    for (const { parts = [] } of contents)
      for (const { text = "" } of parts)
        expect(index >= (texts.get(text) ?? Infinity), `"${text}" was withdrawn before request ${index + 1}`).toBe(
          false,
        );
  }
  await expectSound(world);
  if (!isWhole) return;

  // What the model was sent last is what the page shows.
  const sent = (world.gemini.requests.at(-1)?.contents ?? []).flatMap(({ role, parts = [] }) =>
    parts.flatMap(({ text }) => (text && !text.startsWith("[context, not from the user]") ? `${role}: ${text}` : [])),
  );
  const shown = read(stored);
  const isUser = (line: string) => line.startsWith("user: ");
  expect(sent.filter(isUser)).toEqual(shown.filter(isUser));
  // A stopped reply may be on the page only: the model's history has whole responses. Over a live connection people talk
  // while a question is open, so the end of an older message may be later in the model's history.
  const rest = [...shown];
  for (const line of sent) {
    const place = rest.indexOf(line);
    expect(place, `${line} is not on the page: ${shown.join(" | ")}`).toBeGreaterThanOrEqual(0);
    rest.splice(random.hasSocket() ? place : 0, random.hasSocket() ? 1 : place + 1);
  }
}

describe("a random client", () => {
  for (const { name, options } of storeKinds)
    it(`and the server and the model agree, on ${name}`, { timeout: (60_000 + runs * 5000) * patience }, async () => {
      await fc.assert(
        fc.asyncProperty(fc.tuple(client, client), fc.oneof(story, patient), async (kinds, acts) => {
          const random = await openRandomClient(options(), kinds);
          try {
            await play(random, acts, random.perform);
            await expectAgreement(random, false);
            // After another message, whatever had no reply yet has one, and the model is told everything.
            const { chat, settled, errors } = stockChat(majors[1][1], random.world, { predicate: "either" });
            chat.messages = (await storedMessages(random.world)) ?? [];
            for (const tab of random.tabs) tab.isCurrent = false;
            await chat.sendMessage({ text: "hello" });
            await settled();
            expect(errors).toEqual([]);
            await expectAgreement(random, true);
          } finally {
            await random.close();
          }
        }),
        { numRuns: runs, seed, examples: [[[0, 0], lateRow]] },
      );
    });
});
