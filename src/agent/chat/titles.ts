import type { UIMessage } from "ai";
import { cleanTitle, titleOf } from "../../protocol/index.ts";
import type { Session, Store } from "../../stores/index.ts";
import { describeError, type Logger, within } from "../support/index.ts";

/** Makes the title of a chat from its first message. */
export type MakeTitle = (message: UIMessage) => string | Promise<string>;

interface TitlesContext {
  store: Store;
  logger: Logger;
  /** Default: the first words of the message. */
  title?: MakeTitle | undefined;
}

/** How long the application may take to make a title. */
const titleMs = 30_000;

/** Gives chats their titles. */
export class Titles {
  readonly #context: TitlesContext;

  constructor(context: TitlesContext) {
    this.#context = context;
  }

  /**
   * Gives a chat that has no title the first words of the message. What the application makes of the message replaces
   * them when it is ready, unless a person has renamed the chat by then.
   */
  async give(chat: Session, message: UIMessage): Promise<void> {
    if (chat.title === undefined) await this.#name(chat, message, undefined);
  }

  /** Replaces the first words of a chat by those of the message that replaces its first one. Any other title stays. */
  async replace(chat: Session, before: UIMessage, message: UIMessage): Promise<void> {
    await this.#name(chat, message, titleOf(before));
  }

  async #name(chat: Session, message: UIMessage, was: string | undefined): Promise<void> {
    const { store, title } = this.#context;
    const words = titleOf(message);
    const isNamed = words !== was && (await store.setTitle(chat.id, words, { title: was }));
    if (isNamed && title) void this.#make(title, chat, message, words);
  }

  async #make(title: MakeTitle, chat: Session, message: UIMessage, words: string): Promise<void> {
    const { store, logger } = this.#context;
    try {
      const late = () => new Error(`The option title took longer than ${titleMs / 1000} seconds.`);
      const made: unknown = await within(titleMs, Promise.resolve(message).then(title), late);
      const text = typeof made === "string" ? cleanTitle(made) : "";
      if (text === "") throw new Error("The option title must return text that can be seen.");
      await store.setTitle(chat.id, text, { title: words });
    } catch (error) {
      logger.error("The title of a chat could not be made.", { chat: chat.id, error: describeError(error) });
    }
  }
}
