import type { Content } from "@google/genai";
import type { UIMessage } from "ai";
import type { AppStore } from "../../stores/app-store.ts";
import type { Approval, ChatLimits, StoredFile } from "../../stores/index.ts";
import { type FileLimits, type FileOptions, toFileLimits } from "./file-options.ts";
import { fillIn } from "./keep-event.ts";
import { keepingStore } from "./keeping-store.ts";
import { readWhole } from "./large-outputs.ts";
import { takeFiles } from "./take-files.ts";

/** The files of all chats: taken from messages, kept outside the log, and put back for the model. */
export class ChatFiles {
  /** The store, with everything that is large kept as files. */
  readonly store: AppStore;
  readonly #limits: FileLimits;

  constructor(options: { store: AppStore; files?: FileOptions; largeOutputBytes?: number }) {
    this.#limits = toFileLimits(options);
    this.store = keepingStore(options.store, this.#limits);
  }

  /** A user's message with its files checked and stored. Throws for files that are not allowed. */
  async take(
    message: UIMessage,
    chat: { owner: string; name: string; appName: string },
    limits?: ChatLimits,
  ): Promise<UIMessage> {
    const taken = await takeFiles(message, chat.owner, this.store, this.#limits);
    if (!taken.files.isEmpty) await taken.files.save(this.store, (await this.store.openChat(chat, limits)).id);
    return taken.message;
  }

  /** Puts the content of files and large outputs back into what the model gets. Changes the array only. */
  async fillIn(contents: Content[], chat: string): Promise<void> {
    await fillIn(contents, chat, this.store);
  }

  /** Rows with their whole outcomes, for the model. Those that it knows already stay as they are. */
  async withWholeOutcomes(rows: readonly Approval[]): Promise<Approval[]> {
    return Promise.all(rows.map(async (row) => (row.told ? row : this.#whole(row))));
  }

  /** A file, if this owner has it. */
  find(owner: string, id: string): Promise<StoredFile | undefined> {
    return this.store.findFile(owner, id);
  }

  async #whole(row: Approval): Promise<Approval> {
    const { chat, outcome, interim } = row;
    return {
      ...row,
      ...(outcome && { outcome: await readWhole(outcome, chat, this.store) }),
      ...(interim && { interim: await readWhole(interim, chat, this.store) }),
    };
  }
}
