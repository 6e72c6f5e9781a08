import type { Event } from "@google/adk";
import type { UIMessage } from "ai";
import { BridgeError, cleanTitle, parseJson } from "../../protocol/index.ts";
import type { NewLogEntry, Session, Store } from "../../stores/index.ts";
import { importedEvents, type ImportedHistoryOptions } from "../adk/imported-history.ts";
import { newId } from "../support/index.ts";
import { exportFormat, exportVersion } from "./exported-chat.ts";
import { importedMessage } from "./imported-message.ts";

/** What a file of an exported chat says. */
export interface ImportedChat {
  title: string;
  messages: UIMessage[];
}

/** More than people write in a chat. */
const maxMessages = 50_000;
/** How many messages one transaction adds. */
const batchSize = 50;
const sliceMs = 10;

/** Reads the lines of an exported chat. Throws a sentence that names the first wrong line; nothing is stored yet. */
export async function readExportedChat(lines: AsyncIterable<string>): Promise<ImportedChat> {
  let title: string | undefined;
  const messages: UIMessage[] = [];
  const ids = new Set<string>();
  let number = 0;
  let until = performance.now() + sliceMs;
  for await (const line of lines) {
    number += 1;
    if (line.trim() === "") continue;
    try {
      const value = parseJson(line, { maxDepth: 64 }) as Record<string, unknown> | null;
      if (title === undefined) title = titleOfHeader(value);
      else {
        if (value?.["type"] !== "message") throw new Error('type must be "message".');
        const message = importedMessage(value["message"]);
        if (ids.has(message.id)) throw new Error(`the id ${JSON.stringify(message.id)} is there twice.`);
        if (messages.length >= maxMessages)
          throw new BridgeError("too_large", `a chat has at most ${maxMessages} messages.`);
        ids.add(message.id);
        messages.push(message);
      }
    } catch (error) {
      const code = error instanceof BridgeError ? error.code : "invalid";
      throw new BridgeError(code, `Line ${number}: ${(error as Error).message}`, { cause: error });
    }
    if (performance.now() < until) continue;
    await new Promise((resolve) => setImmediate(resolve));
    until = performance.now() + sliceMs;
  }
  if (title === undefined)
    throw new BridgeError("invalid", "The body is empty: an exported chat begins with a header.");
  return { title, messages };
}

function titleOfHeader(value: Record<string, unknown> | null): string {
  if (value?.["format"] !== exportFormat)
    throw new Error(`the first line must be the header of an exported chat, with "format":"${exportFormat}".`);
  if (value["version"] !== exportVersion)
    throw new Error(`this server reads version ${exportVersion} of the format; the header has another one.`);
  return typeof value["title"] === "string" ? cleanTitle(value["title"]) : "";
}

interface ImportContext extends ImportedHistoryOptions {
  store: Store;
  /** Stores the files of a user's message, and leaves out those that are not allowed. */
  takeFiles: (message: UIMessage) => Promise<UIMessage>;
  /** Stores the large outputs of an assistant's message. */
  keepOutputs: (message: UIMessage) => Promise<UIMessage>;
}

/** Stores the messages of an imported chat: for readers as messages, for the model as its history. */
export async function storeImportedChat(
  { title, messages }: ImportedChat,
  chat: Session,
  { store, takeFiles, keepOutputs, ...history }: ImportContext,
): Promise<void> {
  await store.setTitle(chat.id, title);
  for (let first = 0; first < messages.length; first += batchSize) {
    const batch: UIMessage[] = [];
    const events: Event[] = [];
    for (const message of messages.slice(first, first + batchSize)) {
      // The model gets the files of users only.
      const known = message.role === "user" ? orNotice(await takeFiles(message)) : message;
      events.push(...importedEvents(known, history));
      batch.push(message.role === "user" ? known : await keepOutputs(message));
    }
    await store.append(chat.id, batch.flatMap(toEntries));
    await store.appendEvents(
      chat.id,
      events.map((event) => ({ id: event.id, event: JSON.parse(JSON.stringify(event)) as Record<string, unknown> })),
    );
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** A message without parts would look broken, and no model accepts one. */
function orNotice(message: UIMessage): UIMessage {
  if (message.parts.length > 0) return message;
  return { ...message, parts: [{ type: "text", text: "[a file that was not imported]" }] };
}

/** A message as a turn of its own whose chunks are not kept. */
function toEntries(message: UIMessage): NewLogEntry[] {
  const turn = newId("turn");
  const finish: NewLogEntry = { turn, kind: "chunk", chunk: { type: "finish", finishReason: "stop" } };
  if (message.role === "user")
    return [
      { turn, kind: "begin", reply: newId("msg"), message },
      { turn, kind: "end" },
    ];
  return [{ turn, kind: "begin", reply: message.id }, finish, { turn, kind: "end", message }];
}
