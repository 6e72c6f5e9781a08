import { isToolUIPart, type UIMessage } from "ai";
import { fileIdOf, isLargeOutput } from "../../protocol/index.ts";
import type { FileStore } from "../../stores/index.ts";
import { readWhole } from "./large-outputs.ts";

/** How many bytes of JSON the messages of a chat may have with their files. */
export interface ExportedSize {
  message: number;
  all: number;
}

/** An import takes a little more. */
const exportedSize: ExportedSize = { message: 15 * 1024 * 1024, all: 30 * 1024 * 1024 };

/**
 * Puts files and large outputs into the messages of an exported chat, in the place of their addresses, which mean nothing
 * elsewhere. Those that have no room keep the address.
 */
export class FilesByValue {
  readonly #store: FileStore;
  readonly #chat: string;
  readonly #max: ExportedSize;
  #left: number;

  constructor(store: FileStore, chat: string, max = exportedSize) {
    this.#store = store;
    this.#chat = chat;
    this.#max = max;
    this.#left = max.all;
  }

  /** The next message. */
  async message(message: UIMessage): Promise<UIMessage> {
    const size = Buffer.byteLength(JSON.stringify(message));
    let room = Math.min(this.#max.message, this.#left) - size;
    this.#left -= size;
    const hasRoom = (bytes: number) => {
      if (bytes > room) return false;
      room -= bytes;
      this.#left -= bytes;
      return true;
    };
    const parts: UIMessage["parts"] = [];
    for (const part of message.parts) parts.push(await this.#part(part, hasRoom));
    return { ...message, parts };
  }

  async #part(
    part: UIMessage["parts"][number],
    hasRoom: (bytes: number) => boolean,
  ): Promise<UIMessage["parts"][number]> {
    if (isToolUIPart(part) && part.state === "output-available" && isLargeOutput(part.output))
      return hasRoom(part.output.size)
        ? { ...part, output: await readWhole(part.output, this.#chat, this.#store) }
        : part;
    const id = part.type === "file" ? fileIdOf(part.url) : undefined;
    const file = id === undefined ? undefined : await this.#store.getFile(this.#chat, id);
    if (part.type !== "file" || !file || !hasRoom(Math.ceil(file.data.byteLength / 3) * 4)) return part;
    return { ...part, url: `data:${file.mediaType};base64,${Buffer.from(file.data).toString("base64")}` };
  }
}
