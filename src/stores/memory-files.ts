import type { FileStore, StoredFile } from "./store.ts";

interface MemoryFiles extends FileStore {
  /** Removes the files of a chat. */
  forget(chat: string): void;
}

interface MemoryFilesOptions {
  now: () => number;
  requireChat: (id: string) => void;
  appOf: (chat: string) => string | undefined;
  ownerOf: (chat: string) => string | undefined;
}

/** The files of the store in memory. */
export function memoryFiles({ now, requireChat, appOf, ownerOf }: MemoryFilesOptions): MemoryFiles {
  const files = new Map<string, Map<string, StoredFile>>();
  const copy = (file: StoredFile | undefined) => file && { ...file, data: new Uint8Array(file.data) };

  return {
    async saveFile(file) {
      requireChat(file.chat);
      const ofChat = files.get(file.chat) ?? new Map<string, StoredFile>();
      files.set(file.chat, ofChat);
      if (!ofChat.has(file.id)) ofChat.set(file.id, { ...file, data: new Uint8Array(file.data), at: now() });
    },

    async getFile(chat, id, { maxBytes = Infinity } = {}) {
      const file = files.get(chat)?.get(id);
      return file && file.data.byteLength <= maxBytes ? copy(file) : undefined;
    },

    async findFile(owner, id, appName) {
      for (const [chat, ofChat] of files)
        if (ofChat.has(id) && ownerOf(chat) === owner && appOf(chat) === appName) return copy(ofChat.get(id));
      return undefined;
    },

    forget(chat) {
      files.delete(chat);
    },
  };
}
