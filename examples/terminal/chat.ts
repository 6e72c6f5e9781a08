/**
 * Chats with an agent and answers its questions in a terminal, over the WebSocket. Each line of the input is a message or
 * an answer, so it can also be used with a pipe:
 *
 *     node examples/terminal/chat.ts http://127.0.0.1:3000/agent
 *     printf 'Pay Hanako 50 dollars.\nyes\n' | node examples/terminal/chat.ts http://127.0.0.1:3000/agent
 *
 * With the id of a chat as second argument it continues that chat.
 */
import { randomUUID } from "node:crypto";
import process from "node:process";
import { createInterface } from "node:readline";
import { WebSocketChatTransport } from "adk-stream-protocol/client";
import { visibleText } from "adk-stream-protocol/protocol";
import { isToolUIPart, readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";

const [url = "http://127.0.0.1:3000", chatId = randomUUID()] = process.argv.slice(2);
const base = url.replace(/\/$/, "");
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const transport = new WebSocketChatTransport({ url: `${base.replace(/^http/, "ws")}/live` });
let messages: UIMessage[] = [];

try {
  messages = await readMessages();
  print(`Chat ${chatId}\n`);
  await chat();
} catch (error) {
  process.exitCode = 1;
  console.error(`The chat has ended: ${error instanceof Error ? error.message : String(error)}`);
} finally {
  transport.close();
  process.stdin.destroy();
}

async function chat(): Promise<void> {
  for (;;) {
    const questions = openQuestions();
    for (const question of questions) {
      const approved = await ask(question);
      if (approved === undefined) return print("\nThe question stays open.\n");
      answer(question.approval.id, approved);
    }
    if (questions.length === 0) {
      print("\nyou: ");
      const text = await nextLine();
      if (text === undefined) return print("\n");
      if (text === "") continue;
      messages.push({ id: randomUUID(), role: "user", parts: [{ type: "text", text }] });
    }
    await reply();
  }
}

/** Sends what is new, and shows the reply while it comes. */
async function reply(): Promise<void> {
  const last = messages.at(-1);
  const sent = { chatId, messages, trigger: "submit-message" as const, messageId: undefined, abortSignal: undefined };
  const chunks = (await transport.sendMessages(sent)).pipeThrough(shown());
  const isContinued = last?.role === "assistant";
  let message = isContinued ? structuredClone(last) : undefined;
  // An error in the stream ends it here, and with it the chat.
  for await (message of readUIMessageStream({ ...(message && { message }), stream: chunks, terminateOnError: true }));
  if (message) messages = [...(isContinued ? messages.slice(0, -1) : messages), message];
}

/** Prints the words and results in a stream that passes. */
function shown(): TransformStream<UIMessageChunk, UIMessageChunk> {
  return new TransformStream({
    transform(chunk, controller) {
      controller.enqueue(chunk);
      if (chunk.type === "text-start") print("agent: ");
      if (chunk.type === "text-delta") print(visible(chunk.delta));
      if (chunk.type === "text-end") print("\n");
      if (chunk.type === "tool-output-available") print(`result: ${visible(JSON.stringify(chunk.output))}\n`);
      if (chunk.type === "tool-output-error") print(`result: ${visible(chunk.errorText)}\n`);
      if (chunk.type === "tool-output-denied") print("result: not done\n");
    },
  });
}

/** The calls of the last message that wait for a person. */
function openQuestions() {
  return (messages.at(-1)?.parts ?? []).flatMap((part) =>
    isToolUIPart(part) && part.state === "approval-requested"
      ? [{ name: part.type.replace(/^tool-/, ""), input: part.input, approval: part.approval }]
      : [],
  );
}

/** Shows a question and reads the answer; undefined at the end of the input. */
async function ask({ name, input }: { name: string; input: unknown }): Promise<boolean | undefined> {
  print(`\nThe agent wants to run ${visible(name)} with\n${visible(JSON.stringify(input, null, 2))}\n`);
  for (;;) {
    print("Approve it? yes or no: ");
    const line = (await nextLine())?.trim().toLowerCase();
    if (line === undefined) return undefined;
    if (line === "yes" || line === "no") return line === "yes";
  }
}

/** Puts the answer into the message, as AI SDK does. The next request sends it. */
function answer(id: string, approved: boolean): void {
  const last = messages.at(-1);
  if (!last) return;
  const parts = last.parts.map((part) =>
    isToolUIPart(part) && part.state === "approval-requested" && part.approval.id === id
      ? { ...part, state: "approval-responded" as const, approval: { ...part.approval, approved } }
      : part,
  );
  messages = [...messages.slice(0, -1), { ...last, parts }];
}

/** The messages that the server has. It knows a chat after its first message. */
async function readMessages(): Promise<UIMessage[]> {
  const response = await fetch(`${base}/stream/${encodeURIComponent(chatId)}/messages`);
  const body = (await response.json().catch(() => undefined)) as Body | undefined;
  if (!body?.code && !body?.messages) throw new Error(`There is no agent at ${base}.`);
  if (body.code === "not_found" && process.argv.length < 4) return [];
  if (!body.messages) throw new Error(body.message);
  return body.messages;
}

interface Body {
  messages?: UIMessage[];
  /** What is wrong, if there are no messages. */
  code?: string;
  message?: string;
}

async function nextLine(): Promise<string | undefined> {
  const { value, done } = await lines.next();
  if (done) return undefined;
  // A terminal shows what is typed. From a pipe it would be missing in the output.
  if (!process.stdin.isTTY) print(`${value}\n`);
  return value;
}

/** Text of a model or tool must not move the cursor or hide anything. */
function visible(text: string): string {
  const runs = visibleText(text);
  return runs.map((run) => (run.kind === "text" || run.text === "\n" ? run.text : `[${run.label}]`)).join("");
}

function print(text: string): void {
  process.stdout.write(text);
}
