/** AI SDK 7's own WebSocket transport resumes a message with a call that was decided elsewhere. */
import { gate, pause, text } from "adk-stream-protocol/testing";
import { describe, expect, it } from "vitest";
import { majors, stockChat, toolParts, wordsOf } from "../fixtures/stock-chat.ts";
import { afterTools, asked, messagesOf, openWorld, payRules, post, say } from "../fixtures/world.ts";

const [, ai] = majors[1];

describe("a call decided elsewhere, after resumeStream on AI SDK 7's own socket", () => {
  it.each([
    [true, "output-available"],
    [false, "output-denied"],
  ])("keeps its approval: %s", async (approved, state) => {
    const held = gate();
    const slow = { when: afterTools.when!, say: [text("One two "), pause(held.opened), text("three.")] };
    const world = await openWorld({ rules: [slow, ...payRules] });
    const { approvalId } = asked(await say(world, "pay"));
    const { chat, shows, settled, errors } = stockChat(ai, world, { wire: "AI SDK wire" });
    chat.messages = await messagesOf(world);
    await post(world, `/approvals/${approvalId}`, { approved, reason: "so be it" });
    await world.gemini.waitForRequest(2);
    const resumed = chat.resumeStream();
    await shows((messages) => messages.length === 2 && wordsOf(messages[1]!).includes("two"));
    held.open();
    await resumed;
    const messages = await settled();
    expect(errors).toEqual([]);
    expect(wordsOf(messages[1]!)).toBe("One two three.");
    expect(toolParts(ai, messages[1]!)).toMatchObject([
      { state, approval: { id: approvalId, approved, reason: "so be it" } },
    ]);
    await ai.validateUIMessages({ messages });
    const stored = await messagesOf(world);
    const plain = JSON.parse(JSON.stringify(toolParts(ai, messages[1]!))) as object[];
    expect(plain).toEqual(toolParts(ai, stored[1]!));
  });
});
