import { gate, pause, type Rule, text } from "adk-stream-protocol/testing";
import type { UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import { expectSound } from "../fixtures/sound.ts";
import { type Ai, majors, stockChat } from "../fixtures/stock-chat.ts";
import {
  answer,
  asked,
  decide,
  get,
  ledger,
  messagesOf,
  openSlowWorld,
  openWorld,
  payRules,
  post,
  quiet,
  receive,
  say,
  sequence,
  textOf,
  userMessage,
  type World,
} from "../fixtures/world.ts";

const words = "One two three four five six seven.";

/** A model that stops in the middle of every reply until the test lets it continue. */
function haltingRules(): { rules: Rule[]; goOn: () => void } {
  const middle = gate();
  const halting = [text("One two three "), pause(middle.opened), text("four five six seven.")];
  return {
    rules: [
      { when: ({ responses }) => responses.length > 0, say: halting },
      { when: /story/, say: halting },
      ...payRules.slice(1),
    ],
    goOn: middle.open,
  };
}

/** Waits until the running turn has produced this text. */
async function hasSaid(world: World, wanted: string): Promise<void> {
  const session = (await world.store.findChat("local", "chat-1", "root_agent"))!;
  for (;;) {
    const said = (await world.store.read(session.id)).map((entry) =>
      entry.kind === "chunk" && entry.chunk.type === "text-delta" ? entry.chunk.delta : "",
    );
    if (said.join("").includes(wanted)) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const resume = (world: World, headers: Record<string, string> = {}) =>
  fetch(`${world.server.url}/stream/chat-1/stream`, { headers });

const spoken = (messages: UIMessage[]) =>
  messages.flatMap(({ role, parts }) =>
    parts.flatMap((part) => (role === "assistant" && part.type === "text" ? part.text : [])),
  );
const payment = (messages: UIMessage[]) =>
  messages.flatMap(({ parts }) => parts).find(({ type }) => type === "tool-process_payment") as unknown as {
    state: string;
    approval: { id: string };
  };

/** Opens another tab of the same chat, which loads the messages first. */
async function openTab(ai: Ai, world: World) {
  const tab = stockChat(ai, world);
  tab.chat.messages = await messagesOf(world);
  return tab;
}

/** Resumes as a reloaded page does. Returns when the server has accepted the request. */
async function resumeTab({ chat }: Awaited<ReturnType<typeof openTab>>): Promise<{ ended: Promise<void> }> {
  const ended = chat.resumeStream();
  while (chat.status !== "streaming") await new Promise((resolve) => setTimeout(resolve, 1));
  return { ended };
}

describe("readers of one turn", () => {
  it("get the same chunks with the same numbers, whenever they start to read", async () => {
    const { rules, goOn } = haltingRules();
    const world = await openWorld({ rules });
    const first = say(world, "story");
    await world.gemini.waitForRequest(1);
    const early = receive(await resume(world));
    await hasSaid(world, "three ");
    const late = receive(await resume(world));
    const sequenceNumber = await world.store.lastSequence(
      (await world.store.findChat("local", "chat-1", "root_agent"))!.id,
    );
    const tail = receive(await resume(world, { "last-event-id": String(sequenceNumber) }));
    goOn();
    const whole = await first;
    expect(textOf(whole)).toBe(words);
    for (const { chunks, ids, done } of [await early, await late])
      expect({ chunks, ids, done }).toEqual({ chunks: whole.chunks, ids: whole.ids, done: 1 });
    expect(textOf(await tail)).toBe("four five six seven.");
    expect(new Set(whole.ids).size).toBe(whole.chunks.length);
    expect((await resume(world)).status).toBe(204);
    await expectSound(world);
  });

  it("do not stop it when they disconnect, and do not disturb each other", async () => {
    const { rules, goOn } = haltingRules();
    const world = await openWorld({ rules });
    const leaving = new AbortController();
    const body = JSON.stringify({ id: "chat-1", messages: [userMessage("story")], trigger: "submit-message" });
    const gone = fetch(`${world.server.url}/stream`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
      signal: leaving.signal,
    });
    await gone;
    await hasSaid(world, "three ");
    leaving.abort();
    const stays = receive(await resume(world));
    goOn();
    expect(textOf(await stays)).toBe(words);
    expect(spoken(await messagesOf(world))).toEqual([words]);
    expect(world.gemini.requests).toHaveLength(1);
  });

  it("have nothing to resume while the chat waits for an answer", async () => {
    const world = await openWorld();
    expect((await resume(world)).status).toBe(204);
    await say(world, "pay");
    expect((await resume(world)).status).toBe(204);
  });
});

for (const [name, ai] of majors)
  describe(`a reload with ${name}`, () => {
    it("in the middle of a reply loses and repeats no word", async () => {
      const { rules, goOn } = haltingRules();
      const world = await openWorld({ rules });
      const first = say(world, "story");
      await world.gemini.waitForRequest(1);
      await hasSaid(world, "three ");
      const tab = await openTab(ai, world);
      expect(tab.chat.messages.map(({ role }) => role)).toEqual(["user"]);
      const resumed = await resumeTab(tab);
      goOn();
      await Promise.all([first, resumed.ended]);
      const messages = await tab.settled();
      expect(spoken(messages)).toEqual([words]);
      expect(messages.map(({ id }) => id)).toEqual((await messagesOf(world)).map(({ id }) => id));
      expect(tab.requests).toEqual([]);
      expect(tab.errors).toEqual([]);
    });

    it("in the middle of the reply after an approval shows the outcome and each word once", async () => {
      const { rules, goOn } = haltingRules();
      const world = await openWorld({ rules });
      const question = asked(await say(world, "pay"));
      const first = answer(world, [{ ...question, approved: true }]);
      await world.gemini.waitForRequest(2);
      await hasSaid(world, "three ");
      const tab = await openTab(ai, world);
      expect(spoken(tab.chat.messages)).toEqual([]);
      const resumed = await resumeTab(tab);
      goOn();
      await Promise.all([first, resumed.ended]);
      const messages = await tab.settled();
      expect(messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
      expect(spoken(messages)).toEqual([words]);
      expect(payment(messages).state).toBe("output-available");
      expect(messages.at(-1)!.parts.map(({ type }) => type)).toEqual(
        (await messagesOf(world)).at(-1)!.parts.map(({ type }) => type),
      );
      expect(tab.requests).toEqual([]);
      expect(tab.errors).toEqual([]);
      await ai.validateUIMessages({ messages });
      expect(world.payments).toHaveLength(1);
      await expectSound(world);
    });

    it("while the tool runs continues with the turn and shows its end", async () => {
      const { world, started, finish } = await openSlowWorld();
      const question = asked(await say(world, "pay"));
      const first = answer(world, [{ ...question, approved: true }]);
      await started;
      const tab = await openTab(ai, world);
      expect(payment(tab.chat.messages).state).toBe("approval-responded");
      const resumed = await resumeTab(tab);
      finish();
      await Promise.all([first, resumed.ended]);
      expect(payment(await tab.settled()).state).toBe("output-available");
      expect(tab.requests).toEqual([]);
      expect(world.payments).toHaveLength(1);
    });
  });

for (const [name, ai] of majors)
  describe(`two tabs with ${name}`, () => {
    it("show an answer of one tab when the other tab loads", async () => {
      const world = await openWorld();
      const one = stockChat(ai, world);
      await one.chat.sendMessage({ text: "pay" });
      await one.settled();
      const two = await openTab(ai, world);
      expect(payment(two.chat.messages).state).toBe("approval-requested");
      await one.chat.addToolApprovalResponse({ id: payment(one.chat.messages).approval.id, approved: true });
      const shown = await one.settled();
      const loaded = await messagesOf(world);
      expect(payment(loaded).state).toBe("output-available");
      expect(spoken(loaded)).toEqual(spoken(shown));
      await ai.validateUIMessages({ messages: loaded });
    });

    it("pay once for the same answer in both, and the reply ends in both", async () => {
      const world = await openWorld();
      const one = stockChat(ai, world);
      await one.chat.sendMessage({ text: "pay" });
      await one.settled();
      const two = await openTab(ai, world);
      const { id } = payment(two.chat.messages).approval;
      await Promise.all([one, two].map(async ({ chat }) => chat.addToolApprovalResponse({ id, approved: true })));
      const ended = await Promise.all([one.settled(), two.settled()]);
      expect(ended.map((messages) => payment(messages).state)).toEqual(["output-available", "output-available"]);
      expect([one.requests.length, two.requests.length]).toEqual([2, 1]);
      expect([...one.errors, ...two.errors]).toEqual([]);
      await quiet(world);
      expect(world.payments).toHaveLength(1);
      expect(world.gemini.requests).toHaveLength(2);
      await expectSound(world);
    });

    it("settle a late answer of the other tab, yes or no, without changing anything", async () => {
      for (const approved of [true, false]) {
        const world = await openWorld();
        const one = stockChat(ai, world);
        await one.chat.sendMessage({ text: "pay" });
        await one.settled();
        const two = await openTab(ai, world);
        const { id } = payment(two.chat.messages).approval;
        await one.chat.addToolApprovalResponse({ id, approved: true });
        await one.settled();
        await two.chat.addToolApprovalResponse({ id, approved });
        const messages = await two.settled();
        expect(payment(messages).state).toBe(approved ? "output-available" : "output-denied");
        expect(messages.flatMap(({ parts }) => parts).findLast(({ type }) => type === "data-approval")).toMatchObject({
          data: { state: "succeeded" },
        });
        expect(two.requests).toHaveLength(1);
        expect(two.errors).toEqual([]);
        expect(world.payments).toHaveLength(1);
        expect(world.gemini.requests).toHaveLength(2);
      }
    });
  });

describe("an answer outside the chat", () => {
  it("is shown to every reader of the chat, and its turn can be resumed", async () => {
    const { rules, goOn } = haltingRules();
    const world = await openWorld({ rules });
    const question = asked(await say(world, "pay"));
    await decide(world, question.approvalId, true);
    await world.gemini.waitForRequest(2);
    const joined = receive(await resume(world));
    const repeated = answer(world, [{ ...question, approved: true }]);
    await hasSaid(world, "three ");
    expect((await get(world, "/approvals?chat=chat-1")).body).toMatchObject({ running: true });
    goOn();
    expect(sequence(await repeated)).toMatch(/^start toa ss (text )?fs finish \[DONE\]$/);
    expect(textOf(await joined)).toBe(words);
    expect(await ledger(world)).toMatchObject([{ state: "succeeded" }]);
    expect(spoken(await messagesOf(world))).toEqual([words]);
    expect(world.gemini.requests).toHaveLength(2);
    expect(world.payments).toHaveLength(1);
  });

  it("has its effect also when the person writes during its turn", async () => {
    const { rules, goOn } = haltingRules();
    const world = await openWorld({ rules });
    const { approvalId } = asked(await say(world, "pay"));
    await decide(world, approvalId, true);
    await world.gemini.waitForRequest(2);
    await hasSaid(world, "three ");
    const next = receive(
      await post(world, "/stream", { id: "chat-1", messages: [userMessage("hello")], trigger: "submit-message" }),
    );
    goOn();
    expect(textOf(await next)).not.toBe("");
    await quiet(world);
    expect(world.payments).toHaveLength(1);
    const { open } = await expectSound(world);
    expect(open).toEqual([]);
  });
});
