/** What a policy says about a call is stored with its row and reaches every reader, in both modes and on every store. */
import { FunctionTool, LlmAgent } from "@google/adk";
import { createBridge, idempotencyKey, silentLogger, type ToolPolicy } from "adk-stream-protocol";
import { actionDigest, type ApprovalData } from "adk-stream-protocol/protocol";
import { callWords } from "adk-stream-protocol/react";
import { call, geminiAt } from "adk-stream-protocol/testing";
import { memoryStore } from "adk-stream-protocol/stores/memory";
import { isToolUIPart, type UIMessageChunk } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { expectWhole, liveRules, openLiveStage } from "../fixtures/live-stage.ts";
import { chat, owner } from "../fixtures/mortal-process.ts";
import { expectSound } from "../fixtures/sound.ts";
import { storeKinds } from "../fixtures/store-kinds.ts";
import { answer, asked, demoTools, get, messagesOf, openWorld, say } from "../fixtures/world.ts";

const policy: ToolPolicy = {
  title: { en: "Send money", ja: "送金" },
  hint: ({ amount, recipient }) => ({
    en: `Sends ${String(amount)} to ${String(recipient)}.`,
    ja: `${String(recipient)}に${String(amount)}を送ります。`,
  }),
  icon: "$",
  tone: "caution",
  fields: { amount: { label: { en: "Amount", ja: "金額" }, format: "money", currency: "USD" } },
};
const card = { ...policy, hint: { en: "Sends 50 to Hanako.", ja: "Hanakoに50を送ります。" } };

const dataOf = (chunks: readonly UIMessageChunk[]): ApprovalData[] =>
  chunks.flatMap((chunk) => (chunk.type === "data-approval" ? [chunk.data as ApprovalData] : []));
const request = (chunks: readonly UIMessageChunk[]) => chunks.find(({ type }) => type === "tool-approval-request");

describe.each(storeKinds)("a card on the $name store", ({ options }) => {
  it.each(["request", "live"] as const)("is shown with the question and with every later state (%s)", async (mode) => {
    const live = mode === "live";
    const stage = await openLiveStage({ ...options(), bridge: { tools: { process_payment: policy } } });
    const question = await stage.say("pay", { live });
    expect(request(question.chunks)).toMatchObject({ approvalDescriptor: card, reason: "Sends 50 to Hanako." });
    expect(dataOf(question.chunks)).toMatchObject([{ state: "pending", card }]);

    // Another process, which may have another policy, shows what was stored.
    await stage.crash();
    const [view] = (await stage.bridge.approvals(owner, { chat })).approvals;
    expect(view).toMatchObject({ state: "pending", card, input: { amount: 50, recipient: "Hanako" } });

    const { approvalId } = view ?? expect.fail();
    const reply = await stage.answer([{ id: approvalId, approved: true }], { live });
    const later = dataOf(reply.chunks);
    expect(later.at(-1)?.state).toBe("succeeded");
    for (const data of later) expect(data.card).toEqual(card);
    expect(stage.payments).toEqual([{ amount: 50, recipient: "Hanako" }]);
    await expectWhole(stage);
  });
});

describe("a card over HTTP", () => {
  const open = (tools: Record<string, ToolPolicy>) => openWorld({ bridge: { tools } });

  it("is in the messages, in the ledger, and in a reply that is read again", async () => {
    const world = await open({ process_payment: policy });
    await say(world, "pay");
    const [, reply] = await messagesOf(world);
    const part = reply?.parts.find(isToolUIPart);
    expect(part).toMatchObject({
      state: "approval-requested",
      approval: { descriptor: card, requestReason: "Sends 50 to Hanako." },
    });
    expect(reply?.parts).toContainEqual(
      expect.objectContaining({ type: "data-approval", data: expect.objectContaining({ card }) }),
    );
    const { body } = await get(world, "/approvals?chat=chat-1");
    expect(body.approvals).toMatchObject([{ card }]);
    await expectSound(world);
  });

  it("gives its hint to the second dialect", async () => {
    const world = await open({ process_payment: policy });
    const { chunks } = await say(world, "pay", { query: "?confirmation=tool" });
    const input = chunks.flatMap((chunk) =>
      chunk.type === "tool-input-available" && chunk.toolName === "adk_request_confirmation" ? [chunk.input] : [],
    );
    expect(input).toMatchObject([{ toolConfirmation: { hint: "Sends 50 to Hanako." } }]);
    await expectSound(world);
  });

  it("does not change the digest: it says what is said about the call, not what runs", async () => {
    const digestOf = async (tools: Record<string, ToolPolicy>) => {
      const world = await open(tools);
      await say(world, "pay");
      const [row] = await world.store.listApprovals({});
      if (!row) return expect.fail();
      const { id: approvalId, owner: by, chat: inChat, toolCallId, toolName, digest } = row;
      const action = { approvalId, owner: by, chat: inChat, toolCallId, toolName, input: JSON.parse(row.input) };
      expect(digest).toBe(await actionDigest(action));
    };
    await digestOf({ process_payment: policy });
    await digestOf({});
  });

  it("is shown without its hint if the hint cannot be made, and the call runs once after a yes", async () => {
    const world = await open({
      process_payment: { ...policy, hint: () => Promise.reject(new Error("no words")) },
    });
    const question = await say(world, "pay");
    const { hint: _hint, ...rest } = card;
    expect(dataOf(question.chunks)).toMatchObject([{ state: "pending", card: rest }]);
    expect(request(question.chunks)).toMatchObject({ reason: "Send money" });
    await answer(world, [{ ...asked(question), approved: true }]);
    expect(world.payments).toEqual([{ amount: 50, recipient: "Hanako" }]);
    await expectSound(world);
  });

  it("is not made for calls that no one is asked about", async () => {
    const hints: unknown[] = [];
    const world = await open({ change_bgm: { title: "Music", hint: (args) => String(hints.push(args)) } });
    const { chunks } = await say(world, "music");
    expect(dataOf(chunks)).toEqual([]);
    expect((await world.store.listApprovals({})).map((row) => row.card)).toEqual([undefined]);
    expect(hints).toEqual([]);
  });
});

describe("a card of a call without a policy", () => {
  const mail = { to: "hanako@example.com", subject: "Budget", body: "All is well." };
  const sent = JSON.stringify({ body: mail.body, subject: mail.subject, to: mail.to });

  it.each(["request", "live"] as const)("has the arguments in the order of the tool (%s)", async (mode) => {
    const live = mode === "live";
    const mails: unknown[] = [];
    const sendMail = new FunctionTool({
      name: "send_mail",
      description: "Sends a mail.",
      requireConfirmation: true,
      parameters: z.object({ to: z.string(), cc: z.string().optional(), subject: z.string(), body: z.string() }),
      execute: (args, context): void => {
        stage.effects.push(idempotencyKey(context!));
        mails.push(args);
      },
    });
    const rules = [{ when: /mail/, say: [call("send_mail", mail)] }, ...liveRules];
    const stage = await openLiveStage({ tools: [sendMail], rules });
    const question = await stage.say("mail", { live });
    const { approvals } = await stage.bridge.approvals(owner, { chat });
    const [view] = approvals;
    // A stock client sees no more than before.
    expect(request(question.chunks)).not.toHaveProperty("reason");
    for (const given of [view, ...dataOf(question.chunks)])
      expect(JSON.stringify(given?.card)).toBe('{"fields":{"to":{},"subject":{},"body":{}}}');
    expect(callWords(view?.input, view?.card?.fields)).toBe("hanako@example.com · Budget");

    // What is stored, digested and run is as it was.
    const [row] = await stage.store.listApprovals({});
    if (!row) return expect.fail();
    expect(row.input).toBe(sent);
    const { id: approvalId, owner: by, chat: inChat, toolCallId, toolName, digest } = row;
    expect(digest).toBe(
      await actionDigest({ approvalId, owner: by, chat: inChat, toolCallId, toolName, input: JSON.parse(sent) }),
    );
    const reply = await stage.answer([{ id: approvalId, approved: true }], { live });
    expect(dataOf(reply.chunks).at(-1)).toMatchObject({ state: "succeeded", card: view?.card });
    expect(mails).toEqual([mail]);
    await expectWhole(stage);
  });

  it("does not exist if every page has the order of the tool anyway", async () => {
    const world = await openWorld();
    const question = await say(world, "pay");
    expect(dataOf(question.chunks)).toMatchObject([{ state: "pending" }]);
    expect(dataOf(question.chunks)[0]).not.toHaveProperty("card");
    await expectSound(world);
  });
});

it("a wrong option is refused at start in a sentence with its name", async () => {
  const agent = new LlmAgent({
    name: "root",
    model: geminiAt({ model: "none", url: "http://127.0.0.1:9" }),
    tools: demoTools([]),
  });
  const tools = { process_payment: { tone: "red" } } as unknown as Record<string, ToolPolicy>;
  await expect(createBridge({ agent, store: memoryStore(), tools, logger: silentLogger })).rejects.toThrow(
    'The option tools.process_payment.tone must be one of "neutral", "caution", "danger"; it is "red".',
  );
});
