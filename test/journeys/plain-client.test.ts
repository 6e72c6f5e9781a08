/** A stock chat over a plain client of the chat wire, which acts only when a reply has ended or asks. */
import { afterEach, describe, expect, it } from "vitest";
import { plainSocketTransport } from "../fixtures/plain-socket-transport.ts";
import { endSockets, openSocket } from "../fixtures/raw-socket.ts";
import { chatOver, majors, toolParts, wordsOf } from "../fixtures/stock-chat.ts";
import { messagesOf, openWorld, sequence, userMessage } from "../fixtures/world.ts";

afterEach(endSockets);

for (const [major, ai] of majors)
  describe(`a plain client with ${major}`, () => {
    const open = async () => {
      const world = await openWorld();
      const page = chatOver(ai, await plainSocketTransport(world), { predicate: "either" });
      return { world, ...page };
    };

    it("gives the result of a browser tool that needs no approval", async () => {
      const { world, chat, errors, sends, settled } = await open();
      await chat.sendMessage({ text: "music" });
      const [, asking] = await settled();
      const [music] = toolParts(ai, asking!);
      await chat.addToolOutput({ tool: "change_bgm", toolCallId: music!.toolCallId, output: { playing: 2 } });
      const messages = await settled();
      expect(errors).toEqual([]);
      expect(sends()).toBe(2);
      expect(messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
      expect(wordsOf(messages[1]!)).toContain('change_bgm gave {"playing":2}');
      await ai.validateUIMessages({ messages });
      expect(world.gemini.requests).toHaveLength(2);
      await chat.sendMessage({ text: "hello" });
      expect(wordsOf((await settled()).at(-1)!)).toBe("Hello there, friend.");
    });

    it("says yes to a gated browser tool, and then gives its result", async () => {
      const { world, chat, errors, sends, settled } = await open();
      await chat.sendMessage({ text: "where" });
      const [, asking] = await settled();
      const [place] = toolParts(ai, asking!);
      await chat.addToolApprovalResponse({ id: place!.approval!.id, approved: true });
      await ai.validateUIMessages({ messages: await settled() });
      await chat.addToolOutput({ tool: "get_location", toolCallId: place!.toolCallId, output: { latitude: 35 } });
      const messages = await settled();
      expect(errors).toEqual([]);
      expect(sends()).toBe(3);
      expect(wordsOf(messages[1]!)).toContain('get_location gave {"latitude":35}');
      await ai.validateUIMessages({ messages });
      await ai.validateUIMessages({ messages: await messagesOf(world) });
    });

    it("answers a question, as before", async () => {
      const { world, chat, errors, settled } = await open();
      await chat.sendMessage({ text: "pay" });
      const [payment] = toolParts(ai, (await settled())[1]!);
      await chat.addToolApprovalResponse({ id: payment!.approval!.id, approved: true });
      expect(wordsOf((await settled())[1]!)).toContain("process_payment gave");
      expect(errors).toEqual([]);
      expect(world.payments).toHaveLength(1);
    });
  });

describe("a reply that waits", () => {
  it("has an end for a plain client if no question is open, and none for a client with sequence numbers", async () => {
    const world = await openWorld();
    const plain = await openSocket(world);
    const numbered = await openSocket(world, "?sequence=1");
    numbered.send({ type: "attach", id: "chat-1" });
    await numbered.until(({ controls }) => controls.length > 0);
    plain.send({ type: "message", id: "chat-1", messages: [userMessage("music")] });
    const waiting = await plain.turn();
    expect(sequence(waiting)).toBe("start ss tis tia fs finish [DONE]");
    const call = waiting.chunks.find((chunk) => chunk.type === "tool-input-available")!;
    plain.send({ type: "tool_result", toolCallId: call.toolCallId, result: { playing: 2 } });
    expect(sequence(await plain.turn())).toBe("start toa ss text fs finish [DONE]");
    expect(sequence(await numbered.turn())).toBe("start ss tis tia fs toa ss text fs finish [DONE]");
  });
});
