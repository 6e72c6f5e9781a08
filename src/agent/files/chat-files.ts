import type { Content } from "@google/genai";
import { isToolUIPart, type UIMessage } from "ai";
import type { AppStore } from "../../stores/app-store.ts";
import type { Approval, ChatLimits, Session, StoredFile } from "../../stores/index.ts";
import { type FileLimits, type FileOptions, toFileLimits } from "./file-options.ts";
import { GatheredFiles } from "./gathered-files.ts";
import { fillIn } from "./keep-event.ts";
import { keepingStore } from "./keeping-store.ts";
import { keepOutput, readWhole } from "./large-outputs.ts";
import { type TakenMessage, takeFiles } from "./take-files.ts";

/** The chat that gets the files. */
type OwnedChat = Pick<Session, "owner" | "appName"> & { name: string };

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
  async take(message: UIMessage, chat: OwnedChat, limits?: ChatLimits): Promise<UIMessage> {
    const taken = await takeFiles(message, chat.owner, this.store, this.#limits);
    return this.#save(taken, chat, limits);
  }

  /**
   * A message of an earlier conversation that a client brings with it. Files that are not allowed are left out: with one of
   * them the conversation could not be taken over at all, or the model would refuse it for ever.
   */
  async takeAllowed(message: UIMessage, chat: OwnedChat, limits?: ChatLimits): Promise<UIMessage> {
    const taken = await takeFiles(message, chat.owner, this.store, this.#limits, { leaveOut: true });
    return this.#save(taken, chat, limits);
  }

  /** A message of an assistant that a client brings with it. Its large outputs become files of the chat. */
  async keepOutputs(message: UIMessage, chat: OwnedChat): Promise<UIMessage> {
    const files = new GatheredFiles();
    const keep = (output: unknown) => keepOutput(output, this.#limits.largeOutputBytes, files);
    const parts = message.parts.map((part) =>
      isToolUIPart(part) && part.state === "output-available" ? { ...part, output: keep(part.output) } : part,
    );
    return this.#save({ message: { ...message, parts }, files }, chat);
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

  async #save({ message, files }: TakenMessage, chat: OwnedChat, limits?: ChatLimits): Promise<UIMessage> {
    if (!files.isEmpty) await files.save(this.store, (await this.store.openChat(chat, limits)).id);
    return message;
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
