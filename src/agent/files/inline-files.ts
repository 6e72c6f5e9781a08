import type { UIMessage } from "ai";
import { fileAddress } from "../../protocol/index.ts";
import type { FileStore, NewLogEntry, StoredMessage } from "../../stores/index.ts";
import { fileUrls, mapFileUrls, readInlineAddress } from "./inline-address.ts";

/** How much of files one page of messages may hold as data URLs, in characters. The rest travels as addresses. */
const maxInlined = 8 * 1024 * 1024;

/** Puts files back that travel as data URLs. Each read of several entries or messages uses one of these. */
export class InlineFiles {
  readonly #store: FileStore;
  readonly #chat: string;
  readonly #read = new Map<string, string | undefined>();
  #left: number;

  constructor(store: FileStore, chat: string, { isBounded = false } = {}) {
    this.#store = store;
    this.#chat = chat;
    this.#left = isBounded ? maxInlined : Infinity;
  }

  async entry<T extends NewLogEntry>(entry: T): Promise<T> {
    if (!hasInlinedFile(entry)) return entry;
    if (entry.kind === "chunk") {
      const { chunk } = entry;
      return chunk.type === "file" ? { ...entry, chunk: { ...chunk, url: await this.#url(chunk.url) } } : entry;
    }
    if (entry.kind === "withdraw" || !entry.message) return entry;
    return { ...entry, message: await this.#message(entry.message) };
  }

  async stored(stored: StoredMessage): Promise<StoredMessage> {
    if (!hasInlined(stored.message)) return stored;
    const before = this.#left;
    const message = await this.#message(stored.message);
    const added = Number.isFinite(before) ? before - this.#left : 0;
    return { ...stored, message, size: stored.size + added };
  }

  async #message(message: UIMessage): Promise<UIMessage> {
    const urls = new Map<string, string>();
    for (const url of fileUrls(message)) urls.set(url, await this.#url(url));
    return mapFileUrls(message, (url) => urls.get(url) ?? url);
  }

  async #url(url: string): Promise<string> {
    const address = readInlineAddress(url);
    if (!address) return url;
    const { id, header } = address;
    if (!this.#read.has(id)) {
      const file = await this.#store.getFile(this.#chat, id);
      this.#read.set(id, file && Buffer.from(file.data).toString("base64"));
    }
    const data = this.#read.get(id);
    if (data === undefined || data.length > this.#left) return fileAddress(id);
    this.#left -= data.length;
    return header + data;
  }
}

/** True if the entry has a file that travels as a data URL. */
export function hasInlinedFile(entry: NewLogEntry): boolean {
  if (entry.kind === "chunk") return entry.chunk.type === "file" && readInlineAddress(entry.chunk.url) !== undefined;
  return entry.kind !== "withdraw" && entry.message !== undefined && hasInlined(entry.message);
}

function hasInlined(message: UIMessage): boolean {
  return fileUrls(message).some((url) => readInlineAddress(url) !== undefined);
}
