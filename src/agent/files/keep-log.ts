import type { UIMessage, UIMessageChunk } from "ai";
import { fileAddress, toSafeJson } from "../../protocol/index.ts";
import type { FileStore, NewLogEntry, StoredMessage } from "../../stores/index.ts";
import { readDataUrl, toMediaType } from "./data-url.ts";
import type { FileLimits } from "./file-options.ts";
import type { GatheredFiles } from "./gathered-files.ts";
import { cutErrorText, keepOutput } from "./large-outputs.ts";

/**
 * The log and the messages hold addresses of files instead of their content. A file that travels as a data URL has the
 * beginning of that URL after its address, `/files/<id>#data:image/png;base64,`, and is put back when it is read.
 */
const inlineAddress = /^\/files\/([0-9a-f]{32})#(data:[^,]*,)$/;

/** Shorter files stay where they are: an address would not be much shorter. */
export const minKeptBytes = 1024;
/** How much of files one page of messages may hold as data URLs, in characters. The rest travels as addresses. */
const maxInlined = 8 * 1024 * 1024;

/** An entry as the log stores it: its files are gathered, its large outputs too, and all values are safe for clients. */
export function keepEntry<T extends NewLogEntry>(entry: T, limits: FileLimits, files: GatheredFiles): T {
  if (entry.kind === "chunk") {
    const chunk = keepChunk(entry.chunk, limits, files);
    return chunk === entry.chunk ? entry : { ...entry, chunk };
  }
  if ("message" in entry && entry.message)
    return {
      ...entry,
      message: mapFiles(entry.message, (url, mediaType, name) => keepUrl(url, mediaType, limits, files, name)),
    };
  return entry;
}

function keepChunk(chunk: UIMessageChunk, limits: FileLimits, files: GatheredFiles): UIMessageChunk {
  switch (chunk.type) {
    case "text-delta":
    case "reasoning-delta":
      // By far the most frequent ones.
      return chunk;
    case "file":
      return { ...chunk, url: keepUrl(chunk.url, chunk.mediaType, limits, files) };
    case "tool-input-available":
    case "tool-input-error":
      return { ...chunk, input: toSafeJson(chunk.input) };
    case "tool-output-available":
      return { ...chunk, output: keepOutput(chunk.output, limits.largeOutputBytes, files) };
    case "tool-output-error":
      return { ...chunk, errorText: cutErrorText(chunk.errorText) };
    case "start":
    case "finish":
    case "message-metadata":
      return chunk.messageMetadata === undefined
        ? chunk
        : { ...chunk, messageMetadata: toSafeJson(chunk.messageMetadata) };
    default:
      return "data" in chunk ? { ...chunk, data: toSafeJson(chunk.data) } : chunk;
  }
}

/** The address in the place of a data URL. */
function keepUrl(
  url: string,
  mediaType: string,
  { inlineBytes }: Pick<FileLimits, "inlineBytes">,
  files: GatheredFiles,
  name?: string,
): string {
  if (!/^data:/i.test(url) || url.length < minKeptBytes) return url;
  const read = readDataUrl(url);
  if (!read) return url;
  const isInline = read.data.byteLength <= inlineBytes;
  // Content in another encoding than base64 would not come back as it was.
  if (isInline && read.header === undefined) return url;
  const address = files.add(read.mediaType ?? toMediaType(mediaType) ?? "application/octet-stream", read.data, name);
  return isInline && read.header !== undefined ? `${address}#${read.header}` : address;
}

/** Puts files back that travel as data URLs. Each read of several entries or messages uses one of these. */
export class FileReader {
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
    if (entry.kind === "chunk") {
      const { chunk } = entry;
      if (chunk.type !== "file" || !inlineAddress.test(chunk.url)) return entry;
      return { ...entry, chunk: { ...chunk, url: await this.#url(chunk.url) } };
    }
    if (!("message" in entry) || !entry.message || !hasInlined(entry.message)) return entry;
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
    return mapFiles(message, (url) => urls.get(url) ?? url);
  }

  async #url(url: string): Promise<string> {
    const [, id = "", header = ""] = inlineAddress.exec(url) ?? [];
    if (id === "") return url;
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

function hasInlined(message: UIMessage): boolean {
  return fileUrls(message).some((url) => inlineAddress.test(url));
}

function fileUrls({ parts }: UIMessage): string[] {
  return parts.flatMap((part) => (part.type === "file" ? [part.url] : []));
}

function mapFiles(
  message: UIMessage,
  toUrl: (url: string, mediaType: string, name: string | undefined) => string,
): UIMessage {
  return {
    ...message,
    parts: message.parts.map((part) =>
      part.type === "file" ? { ...part, url: toUrl(part.url, part.mediaType, part.filename) } : part,
    ),
  };
}
