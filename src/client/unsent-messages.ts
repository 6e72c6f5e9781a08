import type { AbstractChat, UIMessage } from "ai";

/**
 * The messages of a chat that could not be sent, and those of which an edit could not be sent. They stay in the chat until
 * the person sends them again or discards them.
 */
export class UnsentMessages<UI_MESSAGE extends UIMessage> {
  readonly #chat: AbstractChat<UI_MESSAGE>;
  readonly #ids = new Set<string>();
  /** The messages that the server has had, by their ids, also if they were withdrawn: their parts as JSON. */
  readonly #received = new Map<string, string>();
  /** The ids of messages that were sent with other parts, and the parts that the server had before. */
  readonly #edits = new Map<string, string | undefined>();

  constructor(chat: AbstractChat<UI_MESSAGE>) {
    this.#chat = chat;
  }

  get ids(): string[] {
    return [...this.#ids];
  }

  /** Remembers the last message if its request failed: later the chat no longer shows that. Returns true for an edit. */
  keep(): boolean {
    const { messages, status } = this.#chat;
    const { id, role } = messages.at(-1) ?? { id: "" };
    const isEdit = this.#received.has(id);
    if (status !== "error" || role !== "user" || this.#ids.has(id) || (isEdit && !this.#edits.has(id))) return false;
    this.#ids.add(id);
    return isEdit;
  }

  /** A message is about to be sent with other parts. The server has got them when it no longer has those of before. */
  edit(id: string): void {
    this.#edits.set(id, this.#received.get(id));
  }

  /** The server has these messages. */
  receive(messages: readonly UI_MESSAGE[]): void {
    for (const { id, parts } of messages) {
      const json = JSON.stringify(parts);
      this.#received.set(id, json);
      if (this.#edits.get(id) === json) continue;
      this.#edits.delete(id);
      this.#ids.delete(id);
    }
  }

  /** Takes an unsent message, to send it again: an edit in its place, a new message as the last one. */
  take(id: string): (UI_MESSAGE & { messageId?: string }) | undefined {
    const message = this.#chat.messages.find((each) => each.id === id);
    if (!message || !this.#ids.delete(id)) return undefined;
    if (this.#received.has(id)) return { ...message, messageId: id };
    this.#chat.messages = this.#chat.messages.filter((each) => each !== message);
    return message;
  }

  /**
   * The server's messages with those that it does not have. A new one stays before the message that it was before, or last;
   * an edited one stands where the server has the message before the edit.
   */
  mergedWith(server: readonly UI_MESSAGE[], local: readonly UI_MESSAGE[]): UI_MESSAGE[] {
    const merged = [...server];
    for (const [index, message] of local.entries()) {
      if (!this.#ids.has(message.id)) continue;
      const notEarlier = new Set(local.slice(index).map(({ id }) => id));
      const place = merged.findIndex(({ id }) => notEarlier.has(id));
      merged.splice(place < 0 ? merged.length : place, merged[place]?.id === message.id ? 1 : 0, message);
    }
    return merged;
  }
}
