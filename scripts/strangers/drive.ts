/**
 * Runs in a stranger's project, with the packages that are installed there. Starts a scripted Gemini and the project's
 * server, and pays over each wire: a message, a card, a yes, and the result.
 *
 *     node drive.ts <url of the routes> <url of the WebSocket or -> <command of the server> …
 *
 * The server gets the scripted Gemini by environment variables. With OWN_MODEL=1 it has a model of its own, which calls a
 * tool when it is asked to. PAGE is the address of a page that the server renders.
 */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import process from "node:process";
import { WebSocketChatTransport } from "adk-stream-protocol/client";
import { call, startScriptedGemini, text } from "adk-stream-protocol/testing";
import * as ai from "ai";

type Transport = ai.ChatTransport<ai.UIMessage>;

const [base = "", socketUrl = "-", program = "", ...args] = process.argv.slice(2);
const hasOwnModel = process.env["OWN_MODEL"] === "1";
/** Longer than a person would wait, because the command may install packages first. */
const startMs = 180_000;
const storyMs = 30_000;

const gemini = await startScriptedGemini({
  rules: [
    { when: ({ responses, fresh }) => !fresh && responses.length > 0, say: [text("It is paid.")] },
    { when: /pay/i, say: [text("One moment."), call("pay", { amount: 50, recipient: "Hanako" })] },
  ],
});
const scripted = { GOOGLE_API_KEY: "none", GOOGLE_GEMINI_BASE_URL: gemini.url };
const env = { ...process.env, ...(!hasOwnModel && scripted) };
// A process group: npx does not pass a signal on to the command that it runs.
const server = spawn(program, args, { env, stdio: ["ignore", "pipe", "pipe"], detached: true });
const ended = new Promise<string>((resolve) => {
  server.once("error", ({ message }) => resolve(message));
  server.once("exit", (code, signal) => resolve(`The server ended with ${code ?? signal}.`));
});
let printed = "";
for (const stream of [server.stdout, server.stderr]) stream.on("data", (piece) => (printed += String(piece)));

try {
  await within(startMs, "The server did not start.", isReady());
  const page = process.env["PAGE"];
  if (page !== undefined) await within(storyMs, "The page did not come.", readPage(page));
  const events = new ai.DefaultChatTransport<ai.UIMessage>({ api: `${base}/stream` });
  await within(storyMs, "The story over SSE did not end.", pay("SSE", events));
  if (socketUrl !== "-") {
    const socket = new WebSocketChatTransport({ url: socketUrl });
    await within(storyMs, "The story over the WebSocket did not end.", pay("WebSocket", socket));
    socket.close();
  }
} catch (error) {
  console.error(error, `\nThe server wrote:\n${printed}`);
  process.exitCode = 1;
} finally {
  stopServer();
  await ended;
  await gemini.close();
}
process.exit();

function stopServer(): void {
  if (server.pid === undefined || server.exitCode !== null) return;
  try {
    process.kill(-server.pid);
  } catch {
    // It has ended meanwhile.
  }
}

/** Waits until the server replies. Throws if it ends before. */
async function isReady(): Promise<void> {
  for (;;) {
    const pause = new Promise<undefined>((resolve) => setTimeout(resolve, 100));
    const response = await fetch(`${base}/health`).catch(() => undefined);
    if (response?.ok) return;
    const end = await Promise.race([ended, pause]);
    if (end !== undefined) throw new Error(end);
  }
}

/** The server must be able to render the page; a browser alone would hide that it cannot. */
async function readPage(url: string): Promise<void> {
  const response = await fetch(url);
  const html = await response.text();
  if (!response.ok || !html.includes('aria-label="Message"'))
    throw new Error(`The page is ${response.status}: ${html}`);
  console.log("  the server renders the page");
}

/** One payment, with messages that stock AI SDK has read and validated. */
async function pay(wire: string, transport: Transport): Promise<void> {
  const start = performance.now();
  const chatId = randomUUID();
  const words = hasOwnModel ? "call pay" : "Pay Hanako.";
  const question: ai.UIMessage = { id: randomUUID(), role: "user", parts: [{ type: "text", text: words }] };
  const asked = await send(transport, chatId, [question]);
  const card = asked.parts.find((part) => ai.isToolUIPart(part));
  if (card?.state !== "approval-requested") throw new Error(`There is no card in ${JSON.stringify(asked.parts)}.`);
  const answered = { ...card, state: "approval-responded", approval: { ...card.approval, approved: true } };
  const parts = asked.parts.map((part) => (part === card ? answered : part)) as ai.UIMessage["parts"];
  const paid = await send(transport, chatId, [question, { ...asked, parts }]);
  const result = paid.parts.find((part) => ai.isToolUIPart(part));
  const isPaid = (output: unknown) => hasOwnModel || JSON.stringify(output) === '{"paid":50,"to":"Hanako"}';
  if (result?.state !== "output-available" || !isPaid(result.output))
    throw new Error(`The payment has no result in ${JSON.stringify(paid.parts)}.`);
  if (paid.parts.at(-1)?.type !== "text") throw new Error("The model did not get the result.");
  await ai.validateUIMessages({ messages: [question, paid] });
  console.log(`  ${wire}: asked, approved and paid in ${Math.round(performance.now() - start)} ms`);
}

async function send(transport: Transport, chatId: string, messages: ai.UIMessage[]): Promise<ai.UIMessage> {
  const last = messages.at(-1);
  const options = { trigger: "submit-message" as const, messageId: undefined, abortSignal: undefined };
  const stream = await transport.sendMessages({ chatId, messages, ...options });
  const before = last?.role === "assistant" ? { message: structuredClone(last) } : {};
  let message: ai.UIMessage | undefined;
  for await (message of ai.readUIMessageStream({ ...before, stream, terminateOnError: true }));
  if (!message) throw new Error("The reply has no message.");
  return message;
}

function within<T>(ms: number, sentence: string, work: Promise<T>): Promise<T> {
  const late = new Promise<never>((_, reject) => setTimeout(() => reject(new Error(sentence)), ms).unref());
  return Promise.race([work, late]);
}
