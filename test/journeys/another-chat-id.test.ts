/** Clients whose chat has another id after a change of the mode: an answer decides the approval that it names. */
import { afterEach, describe, expect, it } from "vitest";
import { plainSocketTransport } from "../fixtures/plain-socket-transport.ts";
import { endSockets, openSocket } from "../fixtures/raw-socket.ts";
import { chatOver, majors, stockChat, toolParts, type Wire, wordsOf } from "../fixtures/stock-chat.ts";
import { asked, get, messagesOf, openWorld, say, sequence, userMessage } from "../fixtures/world.ts";

afterEach(endSockets);

const wires: readonly { wire: Wire | "plain client"; on: (typeof majors)[number] }[] = [
  ...majors.flatMap((on) => (["SSE", "chat wire", "plain client"] as const).map((wire) => ({ wire, on }))),
  { wire: "AI SDK wire", on: majors[1] },
];

for (const { wire, on } of wires) {
  const [major, ai] = on;
  describe(`a chat with another id, on stock ${major} over the ${wire}`, () => {
    const open = async () => {
      const world = await openWorld();
      const question = asked(await say(world, "pay"));
      const page =
        wire === "plain client"
          ? chatOver(ai, await plainSocketTransport(world), { chat: "chat-b" })
          : stockChat(ai, world, { chat: "chat-b", wire });
      page.chat.messages = await messagesOf(world);
      return { world, question, ...page };
    };

    it.each([
      [true, "output-available", 1],
      [false, "output-denied", 0],
    ])("settles a call that is in the old chat: %s", async (approved, state, payments) => {
      const { world, question, chat, settled, errors, sends } = await open();
      await chat.addToolApprovalResponse({ id: question.approvalId, approved });
      const messages = await settled();
      expect(errors).toEqual([]);
      expect(sends()).toBe(1);
      expect(toolParts(ai, messages[1]!)).toMatchObject([{ state, approval: { approved } }]);
      expect(wordsOf(messages[1]!)).not.toBe("");
      await ai.validateUIMessages({ messages });
      expect(world.payments).toHaveLength(payments);
      expect((await messagesOf(world)).map(wordsOf)).toEqual(messages.map(wordsOf));
      expect((await get(world, "/stream/chat-b/messages")).status).toBe(404);
      await chat.sendMessage({ text: "hello" });
      expect(wordsOf((await settled()).at(-1)!)).toBe("Hello there, friend.");
      expect((await messagesOf(world, "chat-b")).map(wordsOf)).toEqual(["hello", "Hello there, friend."]);
      expect(errors).toEqual([]);
    });
  });
}

describe("a socket that follows another chat", () => {
  it("gets the reply to its answer, and goes on with its own chat", async () => {
    const world = await openWorld();
    const question = asked(await say(world, "pay"));
    for (const query of ["", "?sequence=1"]) {
      const client = await openSocket(world, query);
      const message = { type: "message", id: "chat-b", messages: [userMessage("hello")] };
      client.send(message);
      await client.turn();
      const result = { confirmed: true };
      client.send({ type: "tool_result", id: "chat-b", toolCallId: question.approvalId, result, requestId: "r-1" });
      const reply = await client.turn();
      expect(sequence(reply)).toBe(
        query === "" ? "start toa ss text fs finish [DONE]" : "start toa ss fs finish [DONE]",
      );
      expect(reply.ids).toEqual([]);
      client.send({ ...message, messages: [userMessage("hello")] });
      expect(sequence(await client.turn())).toBe("start ss text fs finish [DONE]");
    }
    expect(world.payments).toHaveLength(1);
    expect(await messagesOf(world)).toHaveLength(2);
    expect(await messagesOf(world, "chat-b")).toHaveLength(8);
  });
});
