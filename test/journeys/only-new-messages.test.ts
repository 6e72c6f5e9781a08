/** A stock chat that sends only what is new. */
import { onlyNewMessages } from "adk-stream-protocol/client";
import { DefaultChatTransport, type UIMessage } from "ai";
import { DefaultChatTransport as DefaultChatTransport6 } from "ai-v6";
import { expect, it } from "vitest";
import { chatOver, majors, toolParts, wordsOf } from "../fixtures/stock-chat.ts";
import { messagesOf, openWorld } from "../fixtures/world.ts";

for (const [major, ai] of majors)
  it(`${major}: a long chat sends little, and everything works`, async () => {
    const world = await openWorld();
    const sizes: number[] = [];
    const transport = new ai.DefaultChatTransport<UIMessage>({
      api: `${world.server.url}/stream`,
      prepareSendMessagesRequest: onlyNewMessages,
      fetch: (input, init) => {
        sizes.push((init as { body: string }).body.length);
        return fetch(input, init);
      },
    });
    const { chat, settled, errors } = chatOver(ai, transport, { predicate: "either" });
    const lastCall = () => toolParts(ai, chat.lastMessage!).at(-1)!;
    await chat.sendMessage({ text: `hello ${"x".repeat(10_000)}` });
    await chat.sendMessage({ text: "weather" });
    await chat.sendMessage({ text: "pay" });
    await settled();
    await chat.addToolApprovalResponse({ id: lastCall().approval!.id, approved: true });
    await settled();
    expect(world.payments).toHaveLength(1);
    await chat.sendMessage({ text: "where" });
    await settled();
    await chat.addToolApprovalResponse({ id: lastCall().approval!.id, approved: true });
    await settled();
    await chat.addToolOutput({ tool: "get_location", toolCallId: lastCall().toolCallId, output: { latitude: 35 } });
    expect(wordsOf((await settled()).at(-1)!)).toContain('get_location gave {"latitude":35}');
    await chat.sendMessage({ text: "music" });
    await settled();
    await chat.addToolOutput({ tool: "change_bgm", toolCallId: lastCall().toolCallId, output: { playing: 2 } });
    expect(wordsOf((await settled()).at(-1)!)).toContain('change_bgm gave {"playing":2}');
    await chat.sendMessage({ text: "hello" });
    await chat.regenerate();
    const messages = await settled();
    expect(errors).toEqual([]);
    expect(Math.max(...sizes.slice(1))).toBeLessThan(1000);
    expect(messages.map(wordsOf)).toEqual((await messagesOf(world)).map(wordsOf));
    expect(messages).toHaveLength(12);
  });

it("can be given to the transports of both majors as it is", () => {
  const options = { api: "/stream", prepareSendMessagesRequest: onlyNewMessages };
  expect(new DefaultChatTransport(options)).toBeDefined();
  expect(new DefaultChatTransport6(options)).toBeDefined();
});
