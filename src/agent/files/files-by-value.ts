import { isToolUIPart, type UIMessage } from "ai";
import { fileAddress, fileIdOf, isLargeOutput, toSafeJson } from "../../protocol/index.ts";
import type { FileStore } from "../../stores/index.ts";
import { readInlineAddress } from "./inline-address.ts";
import { readWhole } from "./large-outputs.ts";

/** How many bytes of JSON a message may have with its files, and how many the files of all messages may have. */
export interface ExportedSize {
  message: number;
  files: number;
}

/** An import takes 32 MiB. The words that come after the last file must have room too. */
const exportedSize: ExportedSize = { message: 15 * 1024 * 1024, files: 22 * 1024 * 1024 };

/**
 * Puts files and large outputs into the messages of an exported chat, in the place of their addresses, which mean nothing
 * elsewhere. Those that have no room keep the address, and are not read.
 */
export class FilesByValue {
  readonly #store: FileStore;
  readonly #chat: string;
  readonly #max: ExportedSize;
  /** The room that is left for files, in bytes. */
  #left: number;

  constructor(store: FileStore, chat: string, max = exportedSize) {
    this.#store = store;
    this.#chat = chat;
    this.#max = max;
    this.#left = max.files;
  }

  /** The next message, as the store has it. */
  async message(message: UIMessage): Promise<UIMessage> {
    let room = this.#max.message - Buffer.byteLength(JSON.stringify(message));
    const parts: UIMessage["parts"] = [];
    for (const part of message.parts) {
      const { filled, bytes } = await this.#fill(part, Math.min(room, this.#left));
      parts.push(filled);
      room -= bytes;
      this.#left -= bytes;
    }
    return { ...message, parts };
  }

  /** A part with its file, if the file has room, and how many bytes it adds. */
  async #fill(part: Part, room: number): Promise<{ filled: Part; bytes: number }> {
    if (isToolUIPart(part) && part.state === "output-available" && isLargeOutput(part.output)) {
      const whole = part.output.size > room ? part.output : await readWhole(part.output, this.#chat, this.#store);
      // A stored output is as the tool gave it. An import takes only what a client may send.
      const output = toSafeJson(whole);
      // What the part says about the size may be untrue: it may be the output of a tool, or have been imported.
      const bytes = whole === part.output ? 0 : Buffer.byteLength(JSON.stringify(output));
      return bytes > 0 && bytes <= room ? { filled: { ...part, output }, bytes } : { filled: part, bytes: 0 };
    }
    if (part.type !== "file") return { filled: part, bytes: 0 };
    const inline = readInlineAddress(part.url);
    const id = inline?.id ?? fileIdOf(part.url);
    if (id === undefined) return { filled: part, bytes: 0 };
    // Base64 has four characters for three bytes.
    const maxBytes = Math.floor(room / 4) * 3;
    const file = maxBytes > 0 ? await this.#store.getFile(this.#chat, id, { maxBytes }) : undefined;
    if (!file) return { filled: { ...part, url: fileAddress(id) }, bytes: 0 };
    const content = Buffer.from(file.data).toString("base64");
    const url = (inline?.header ?? `data:${file.mediaType};base64,`) + content;
    return { filled: { ...part, url }, bytes: content.length };
  }
}

type Part = UIMessage["parts"][number];
