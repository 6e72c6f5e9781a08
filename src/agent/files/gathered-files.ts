import { createHash } from "node:crypto";
import { fileAddress } from "../../protocol/index.ts";
import type { FileStore, NewFile } from "../../stores/index.ts";

/** Files that have to be stored before something that refers to them. */
export class GatheredFiles {
  readonly #files = new Map<string, Omit<NewFile, "chat">>();

  get isEmpty(): boolean {
    return this.#files.size === 0;
  }

  /** Adds a file and returns its address. */
  add(mediaType: string, data: Uint8Array, name?: string): string {
    const id = fileId(mediaType, data);
    this.#files.set(id, { id, mediaType, data, ...(name !== undefined && { name }) });
    return fileAddress(id);
  }

  /** Stores the files in a chat. */
  async save(store: FileStore, chat: string): Promise<void> {
    for (const file of this.#files.values()) await store.saveFile({ ...file, chat });
  }
}

/**
 * 128 bits of a hash of the content. The same content has the same id, so a picture that is in a message, in the log and in
 * the model's history is stored once, and a write that is repeated after a crash changes nothing. Ids are no secrets: only
 * the owner of a chat gets its files.
 */
function fileId(mediaType: string, data: Uint8Array): string {
  return createHash("sha256").update(mediaType).update("\0").update(data).digest("hex").slice(0, 32);
}
