/** Files of chats: what users attach, what models make, and outputs of tools that are too large for a message. */
export interface FileStore {
  /** Stores a file. The same chat may store the same id again, which changes nothing. Throws `not_found` without the chat. */
  saveFile(file: NewFile): Promise<void>;
  /** A file of one chat; undefined also if it has more bytes than `maxBytes`, and then it is not read. */
  getFile(chat: string, id: string, limits?: { maxBytes?: number }): Promise<StoredFile | undefined>;
  /** A file of any chat of this owner in one app. */
  findFile(owner: string, id: string, appName: string): Promise<StoredFile | undefined>;
}

/** A file to store. */
export interface NewFile {
  /** Made from the content, so that a chat stores the same file once. */
  id: string;
  chat: string;
  mediaType: string;
  name?: string;
  data: Uint8Array;
}

/** A file as the store has it. */
export interface StoredFile extends NewFile {
  at: number;
}
