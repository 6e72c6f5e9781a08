import { describe, expect, it } from "vitest";
import { majors, stockChat } from "../fixtures/stock-chat.ts";
import { answer, asked, get, openWorld, say, sequence, states, textOf } from "../fixtures/world.ts";

describe("a gated payment over SSE", () => {
  it("asks, pays once after a yes, and continues in the same message", async () => {
    const world = await openWorld();
    const question = await say(world, "pay");
    expect(sequence(question)).toBe("start ss tis tia tar fs finish [DONE]");
    expect(world.payments).toEqual([]);

    const reply = await answer(world, [{ ...asked(question), approved: true }]);
    expect(sequence(reply)).toBe("start toa ss text fs finish [DONE]");
    expect(states(reply)).toEqual(["approved", "executing", "succeeded"]);
    expect(reply.chunks[0]).toEqual({ type: "start", messageId: asked(question).messageId });
    expect(textOf(reply)).toContain('"paid":50');
    expect(world.payments).toEqual([{ amount: 50, recipient: "Hanako" }]);
    expect(world.gemini.requests.flatMap(({ pairingErrors }) => pairingErrors)).toEqual([]);
  });

  it("pays nothing after a no, and tells the model why", async () => {
    const world = await openWorld();
    const question = await say(world, "pay");
    const reply = await answer(world, [{ ...asked(question), approved: false, reason: "wrong person" }]);
    expect(sequence(reply)).toBe("start tod ss text fs finish [DONE]");
    expect(textOf(reply)).toContain("wrong person");
    expect(world.payments).toEqual([]);
  });

  for (const [name, ai] of majors)
    it(`needs two requests and one message with ${name}`, async () => {
      const world = await openWorld();
      const { chat, requests, settled, errors } = stockChat(ai, world);
      await chat.sendMessage({ text: "pay" });
      const part = (await settled()).at(-1)!.parts.find((candidate) => candidate.type === "tool-process_payment") as {
        approval: { id: string };
      };
      await chat.addToolApprovalResponse({ id: part.approval.id, approved: true });
      const messages = await settled();
      expect(errors).toEqual([]);
      expect(requests).toHaveLength(2);
      expect(messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
      expect(world.payments).toHaveLength(1);
      await ai.validateUIMessages({ messages });
      const { body } = await get(world, "/stream/chat-1/messages");
      await ai.validateUIMessages({ messages: body.messages });
      expect(body.messages.at(-1).parts.map(({ type }: { type: string }) => type)).toEqual(
        messages.at(-1)!.parts.map(({ type }) => type),
      );
    });
});
