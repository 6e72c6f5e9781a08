/** Chat requests without the id of a chat, as the clients of other servers send them. */
import type { UIMessage } from "ai";
import { afterEach, describe, expect, it } from "vitest";
import { endSockets, openSocket } from "../fixtures/raw-socket.ts";
import { chatOver, majors, toolParts, wordsOf } from "../fixtures/stock-chat.ts";
import { storeKinds } from "../fixtures/store-kinds.ts";
import {
  asked,
  messagesOf,
  openWorld,
  post,
  receive,
  type Received,
  sequence,
  textOf,
  userMessage,
  type World,
} from "../fixtures/world.ts";

afterEach(endSockets);

const picture = { type: "file", mediaType: "image/png", url: "data:image/png;base64,AAAA" } as const;
/** A conversation with another server. */
const earlier: UIMessage[] = [
  { ...userMessage("My name is Hanako.", "u-1"), parts: [{ type: "text", text: "My name is Hanako." }, picture] },
  {
    id: "a-1",
    role: "assistant",
    parts: [
      { type: "step-start" },
      { type: "tool-pay", toolCallId: "c-1", state: "output-available", input: {}, output: { paid: 1 } },
      { type: "text", text: "Nice to meet you." },
    ],
  },
];

const chatIdIn = ({ chunks }: Received) => {
  const start = chunks.find((chunk) => chunk.type === "start");
  return (start?.messageMetadata as { chatId?: string } | undefined)?.chatId;
};

async function send(world: World, body: object): Promise<Received & { chat: string }> {
  const response = await post(world, "/stream", body);
  const chat = response.headers.get("x-chat-id");
  return { ...(await receive(response)), chat: chat ?? "" };
}

/** What a model was asked: who said what. */
const conversation = (world: World) =>
  world.gemini.requests
    .at(-1)!
    .contents.flatMap(({ role, parts = [] }) =>
      parts.map(({ text, inlineData }) => `${role}: ${text ?? inlineData?.mimeType}`),
    );

describe("a message without the id of a chat", () => {
  it("begins a chat, which the reply names", async () => {
    const world = await openWorld();
    const reply = await send(world, { messages: [userMessage("hello")] });
    expect(sequence(reply)).toBe("start ss text fs finish [DONE]");
    expect(reply.chat).toMatch(/^chat_[0-9a-f]{32}$/);
    expect(chatIdIn(reply)).toBe(reply.chat);
    expect(await messagesOf(world, reply.chat)).toHaveLength(2);
    const other = await send(world, { messages: [userMessage("hello")] });
    expect(other.chat).not.toBe(reply.chat);
  });

  it.each(storeKinds)("begins it with the messages before it: $name", async (kind) => {
    const world = await openWorld(kind.options());
    const { chat } = await send(world, { messages: [...earlier, userMessage("hello", "u-2")] });
    expect(conversation(world)).toEqual([
      "user: My name is Hanako.",
      "user: image/png",
      "model: Nice to meet you.",
      "user: hello",
    ]);
    const expectShown = async () => {
      const messages = await messagesOf(world, chat);
      expect(messages.map(({ id }) => id).slice(0, 3)).toEqual(["u-1", "a-1", "u-2"]);
      expect(messages.map(wordsOf)).toEqual([
        "My name is Hanako.",
        "Nice to meet you.",
        "hello",
        "Hello there, friend.",
      ]);
      expect(messages[0]!.parts[1]).toEqual(picture);
      expect(messages[1]!.parts.map(({ type }) => type)).toEqual(["step-start", "text"]);
      for (const [, ai] of majors) await ai.validateUIMessages({ messages });
    };
    await expectShown();
    await world.restart();
    await expectShown();
    await send(world, { id: chat, messages: [userMessage("hello again")] });
    expect(conversation(world)).toHaveLength(6);
  });

  it("begins it with the messages before it, over the chat wire", async () => {
    const world = await openWorld();
    const client = await openSocket(world);
    client.send({ type: "message", version: "1.0", data: { messages: [...earlier, userMessage("hello", "u-2")] } });
    const chat = chatIdIn(await client.turn())!;
    expect((await messagesOf(world, chat)).map(wordsOf)).toEqual([
      "My name is Hanako.",
      "Nice to meet you.",
      "hello",
      "Hello there, friend.",
    ]);
    client.send({ type: "message", messages: [userMessage("hello", "u-3")] });
    expect(chatIdIn(await client.turn())).toBeUndefined();
    expect(await messagesOf(world, chat)).toHaveLength(6);
  });

  it("begins it without the files that may not be sent, because such a client would send them again and again", async () => {
    const world = await openWorld();
    const page = { type: "file", url: "data:text/html;base64,PGI+", mediaType: "text/html" };
    const history = [
      { ...userMessage("look", "u-0"), parts: [...userMessage("look").parts, page] },
      { id: "u-1", role: "user", parts: [page] },
    ];
    const { status, chat } = await send(world, { messages: [...history, userMessage("hello", "u-2")] });
    expect(status).toBe(200);
    expect(conversation(world)).toEqual(["user: look", "user: hello"]);
    expect((await messagesOf(world, chat)).map(wordsOf)).toEqual(["look", "hello", "Hello there, friend."]);
  });

  it("has no history if the chat is named: the server has its own", async () => {
    const world = await openWorld();
    await send(world, { id: "chat-1", messages: [...earlier, userMessage("hello")] });
    expect(conversation(world)).toEqual(["user: hello"]);
    expect(await messagesOf(world)).toHaveLength(2);
  });
});

describe("an answer without the id of a chat", () => {
  it("finds its chat by its approval, as the body of ADK's own confirmation has it", async () => {
    const world = await openWorld({ server: { confirmation: "tool" } });
    const said = userMessage("pay");
    const question = await send(world, { messages: [said] });
    const call = question.chunks.findLast((chunk) => chunk.type === "tool-input-available")!;
    const result = {
      type: "tool-result",
      toolCallId: call.toolCallId,
      toolName: "adk_request_confirmation",
      result: { confirmed: true },
    };
    const body = { messages: [said, { role: "user", content: [result] }] };
    const reply = await send(world, body);
    expect(sequence(reply)).toBe("start toa ss text fs finish [DONE]");
    expect([reply.chat, chatIdIn(reply)]).toEqual([question.chat, question.chat]);
    expect((await send(world, body)).chat).toBe(question.chat);
    expect(world.payments).toHaveLength(1);
  });

  it("can be the result of a browser tool, by the id of the call", async () => {
    const world = await openWorld();
    const question = await send(world, { messages: [userMessage("music")] });
    const { toolCallId } = question.chunks.find((chunk) => chunk.type === "tool-input-available")!;
    const part = { type: "tool-result", toolCallId, result: { playing: 2 } };
    const reply = await send(world, { messages: [{ role: "user", content: [part] }] });
    expect(textOf(reply)).toContain('change_bgm gave {"playing":2}');
    expect(reply.chat).toBe(question.chat);
  });

  it("is refused for an approval of another owner, and for one that does not exist", async () => {
    const authenticate = (request: Request) => request.headers.get("x-owner") ?? undefined;
    const world = await openWorld({ server: { authenticate } });
    const first = await post(world, "/stream", { messages: [userMessage("pay")] }, { "x-owner": "hanako" });
    const { approvalId } = asked(await receive(first));
    const answers = await Promise.all(
      [approvalId, "apr_unknown"].map(async (toolCallId) => {
        const content = [{ type: "tool-result", toolCallId, result: { confirmed: true } }];
        const body = { messages: [{ role: "user", content }] };
        const response = await post(world, "/stream", body, { "x-owner": "taro" });
        return { status: response.status, text: (await response.text()).replaceAll(toolCallId, "ID") };
      }),
    );
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]!.status).toBe(404);
    expect(world.payments).toEqual([]);
  });
});

it("accepts chatId as another name of id", async () => {
  const world = await openWorld();
  const reply = await send(world, { chatId: "chat-7", messages: [userMessage("hello")] });
  expect([reply.chat, chatIdIn(reply)]).toEqual(["chat-7", undefined]);
  await send(world, { id: "chat-8", chatId: "chat-7", messages: [userMessage("hello")] });
  const client = await openSocket(world);
  client.send({ type: "message", chatId: "chat-7", messages: [userMessage("hello")] });
  await client.turn();
  expect(await messagesOf(world, "chat-7")).toHaveLength(4);
  expect(await messagesOf(world, "chat-8")).toHaveLength(2);
});

for (const [major, ai] of majors)
  it(`serves a stock chat of ${major} that sends only its messages`, async () => {
    const world = await openWorld();
    const transport = new ai.DefaultChatTransport<UIMessage>({
      api: `${world.server.url}/stream`,
      prepareSendMessagesRequest: ({ messages }) => ({ body: { messages } }),
    });
    const { chat, settled, errors } = chatOver(ai, transport);
    await chat.sendMessage({ text: "pay" });
    const [question] = toolParts(ai, (await settled())[1]!);
    await chat.addToolApprovalResponse({ id: question!.approval!.id, approved: true });
    const messages = await settled();
    expect(errors).toEqual([]);
    expect(toolParts(ai, messages[1]!).map(({ state }) => state)).toEqual(["output-available"]);
    await chat.sendMessage({ text: "hello" });
    expect(wordsOf((await settled()).at(-1)!)).toBe("Hello there, friend.");
    expect(world.payments).toHaveLength(1);
    expect(conversation(world)[0]).toBe("user: pay");
    await ai.validateUIMessages({ messages: chat.messages });
  });
