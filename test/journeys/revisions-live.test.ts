import { LongRunningFunctionTool } from "@google/adk";
import { idempotencyKey } from "adk-stream-protocol";
import { WebSocketChatTransport } from "adk-stream-protocol/client";
import { call, gate, type Rule, text } from "adk-stream-protocol/testing";
import type { UIMessage, UIMessageChunk } from "ai";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { behindClerk, expectWhole, type LiveStage, openLiveStage } from "../fixtures/live-stage.ts";
import { owner } from "../fixtures/mortal-process.ts";
import { majors, stockChat, wordsOf } from "../fixtures/stock-chat.ts";
import { messagesOf, openWorld, payRules, sequence, states, textOf, userMessage } from "../fixtures/world.ts";

const textsOf = (messages: readonly UIMessage[]) => messages.map((message) => wordsOf(message));
const yes = async (stage: LiveStage) => stage.answer((await stage.pending()).map(({ id }) => ({ id, approved: true })));
const lastConnection = (stage: LiveStage) => stage.textToModel(stage.gemini.live.sessions.at(-1));

for (const behavior of ["BLOCKING", "NON_BLOCKING"] as const)
  describe(`over a live connection, with calls that are ${behavior}`, () => {
    it("an edit gets a new connection, which knows only what stays and the effects", async () => {
      const stage = await openLiveStage({ behavior });
      await stage.say("hello", { id: "u-1" });
      await stage.say("pay", { id: "u-2" });
      await yes(stage);
      await stage.say("hello", { id: "u-3" });
      const edited = await stage.say("weather", { id: "u-2" });
      expect(sequence(edited)).toBe("start ss tis tia toa fs ss text fs finish [DONE]");
      expect(stage.gemini.live.sessions).toHaveLength(2);
      const told = lastConnection(stage);
      expect(told.slice(0, 2)).toEqual(["hello", "Hello there, friend."]);
      expect(told[2]).toContain("The earlier call process_payment(");
      expect(told[2]).toContain('ended as succeeded: {"paid":50}');
      expect(told[3]).toBe("weather");
      expect(told).toHaveLength(4);
      expect(stage.payments).toHaveLength(1);
      expect((await stage.messages()).map(({ id, role }) => (role === "user" ? id : role))).toEqual([
        "u-1",
        "assistant",
        "u-2",
        "assistant",
      ]);
      await expectWhole(stage);
    });

    it("an edit leaves the question of an earlier message open, and what became of it stays told", async () => {
      const stage = await openLiveStage({ behavior });
      await stage.say("pay", { id: "u-1" });
      await stage.say("hello", { id: "u-2" });
      await yes(stage);
      const edited = await stage.say("weather", { id: "u-2" });
      expect(textOf(edited)).toContain("get_weather gave");
      expect(JSON.stringify(lastConnection(stage)).split('\\"paid\\":50').length - 1).toBeGreaterThan(0);
      const next = await stage.say("hello", { live: false });
      expect(textOf(next)).toBe("Hello there, friend.");
      expect(stage.payments).toHaveLength(1);
      await expectWhole(stage);
    });

    it("an edit cancels the question of the edited message", async () => {
      const stage = await openLiveStage({ behavior });
      await stage.say("pay", { id: "u-1" });
      await stage.say("hello", { id: "u-1" });
      expect((await stage.rows()).map(({ state }) => state)).toEqual(["cancelled"]);
      expect(lastConnection(stage)).toEqual(["hello"]);
      expect(textsOf(await stage.messages())).toEqual(["hello", "Hello there, friend."]);
      await expectWhole(stage);
    });

    it("an edit while a payment runs: its outcome is told and shown once", async () => {
      const stage = await openLiveStage({ behavior });
      const slow = gate();
      await stage.say("pay", { id: "u-1" });
      stage.setPace(slow.opened);
      const running = yes(stage);
      await stage.until(async () => (await stage.rows()).some(({ state }) => state === "executing"));
      await stage.say("hello", { id: "u-1" });
      slow.open();
      await running;
      await stage.untilIdle();
      await stage.until(async () => (await stage.messages()).length === 3);
      expect(JSON.stringify((await stage.messages())[2])).toContain('"state":"succeeded"');
      await stage.say("hello");
      const told = stage.textToModel().filter((words) => words.includes('ended as succeeded: {"paid":50}'));
      expect(told).toHaveLength(1);
      expect(stage.payments).toHaveLength(1);
      await expectWhole(stage);
    });
  });

describe("an agent that is run as a tool", () => {
  for (const live of [false, true]) {
    it(`keeps its result when the reply is made again, ${live ? "live" : "by request"}`, async () => {
      const stage = await openLiveStage(behindClerk);
      await stage.say("ask the clerk to pay", { live });
      await stage.answer(
        (await stage.pending()).map(({ id }) => ({ id, approved: true })),
        { live },
      );
      const again = await stage.submit({ type: "regenerate" }, { live });
      expect(sequence(again)).toBe("start ss tis tia toa fs ss tis tia toa fs ss text fs finish [DONE]");
      expect(states(again)).toEqual(["succeeded"]);
      expect(stage.payments).toHaveLength(1);
      await expectWhole(stage);
    });

    it(`is cancelled with its question by an edit, and what it did is noted, ${live ? "live" : "by request"}`, async () => {
      const stage = await openLiveStage(behindClerk);
      const message = userMessage("chain (ask the clerk)", "u-1");
      await stage.submit({ type: "message", message }, { live });
      const [first] = await stage.pending();
      await stage.answer([{ id: first!.id, approved: true }], { live });
      expect(await stage.pending()).toHaveLength(1);
      await stage.say("hello", { id: "u-1", live });
      expect(await stage.pending()).toEqual([]);
      const told = live
        ? lastConnection(stage).join("\n")
        : JSON.stringify(stage.gemini.requests.at(-1)!.contents.map(({ parts }) => parts?.[0]?.text));
      expect(told.split("The earlier call process_payment").length - 1).toBe(1);
      expect(told).not.toContain("clerk");
      expect(stage.payments).toHaveLength(1);
      await expectWhole(stage);
    });
  }
});

it.each([true, false])(
  "an edit repeats a note about a call that outlived its agent, and has it once, live: %s",
  async (live) => {
    const keys: string[] = [];
    const deploy = new LongRunningFunctionTool({
      name: "deploy",
      description: "Deploys.",
      parameters: z.object({}),
      requireConfirmation: true,
      execute: (_, context) => {
        if (context) keys.push(idempotencyKey(context));
        return { begun: true };
      },
    });
    const rules: Rule[] = [
      {
        when: ({ toolNames, responses }) => toolNames.includes("deploy") && responses.length === 0,
        say: [call("deploy")],
      },
      { when: ({ text: said, fresh }) => fresh && said === "go", say: [call("clerk", { request: "deploy" })] },
      { say: [text("Hello.")] },
    ];
    const stage = await openLiveStage({ ...behindClerk, rules, tools: [deploy] });
    await stage.submit({ type: "message", message: userMessage("go", "u-1") }, { live });
    const [question] = await stage.pending();
    await stage.answer([{ id: question?.id ?? "", approved: true }], { live });
    await stage.untilIdle();
    await stage.bridge.settle(owner, keys[0] ?? "", { error: "No room." });
    await stage.untilIdle();
    await stage.say("hello", { id: "u-1", live });
    const told = live ? lastConnection(stage).join("\n") : JSON.stringify(stage.gemini.requests.at(-1)?.contents);
    expect(told.split("The earlier call deploy").length - 1).toBe(1);
    expect(told).toContain("No room.");
    await expectWhole(stage);
  },
);

describe("a second tab", () => {
  it("is told which messages were withdrawn, and ends with the same ones", async () => {
    const world = await openWorld({ rules: payRules });
    const { chat, settled } = stockChat(majors[1][1], world, { wire: "chat wire" });
    await chat.sendMessage({ text: "one" });
    await settled();
    await chat.sendMessage({ text: "two" });
    await settled();
    const seen: UIMessageChunk[] = [];
    const other = new WebSocketChatTransport({
      url: `${world.server.url.replace("http", "ws")}/live`,
      onChunk: (chunk) => void seen.push(chunk),
    });
    onTestFinished(() => other.close());
    expect(await other.reconnectToStream({ chatId: "chat-1" })).toBeNull();
    const mine = await messagesOf(world);
    await chat.sendMessage({ text: "two again", messageId: chat.messages[2]!.id });
    const messages = await settled();
    while (seen.at(-1)?.type !== "finish") await new Promise((resolve) => setTimeout(resolve, 2));
    const [withdrawn, start] = seen;
    expect(withdrawn).toEqual({ type: "data-withdrawn", transient: true, data: { from: mine[2]!.id } });
    expect(start).toMatchObject({ type: "start", messageId: messages[3]!.id });
    expect((await messagesOf(world)).map(({ id }) => id)).toEqual(messages.map(({ id }) => id));
  });

  it("that does not know the last messages replaces them", async () => {
    const world = await openWorld({ rules: payRules });
    const one = stockChat(majors[1][1], world);
    await one.chat.sendMessage({ text: "one" });
    const two = stockChat(majors[0][1], world);
    two.chat.messages = await messagesOf(world);
    await one.chat.sendMessage({ text: "of the first tab" });
    await one.settled();
    await two.chat.sendMessage({ text: "of the second tab" });
    const messages = await two.settled();
    expect((await messagesOf(world)).map(({ id }) => id)).toEqual(messages.map(({ id }) => id));
    expect(messages).toHaveLength(4);
  });
});
