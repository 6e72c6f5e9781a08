import type { AbstractChat, UIMessage } from "ai";

/**
 * The messages of a chat that could not be sent, and those of which an edit could not be sent. They stay in the chat until
 * the person sends them again or discards them.
 */
export function unsentMessages<UI_MESSAGE extends UIMessage>(chat: AbstractChat<UI_MESSAGE>) {
  const unsent = new Set<string>();
  /** The messages that the server has had, by their ids, also if they were withdrawn: their parts as JSON. */
  const received = new Map<string, string>();
  /** The ids of messages that were sent with other parts, and the parts that the server had before. */
  const edits = new Map<string, string | undefined>();

  return {
    ids: (): string[] => [...unsent],

    /** Remembers the last message if its request failed: later the chat no longer shows that. Returns true for an edit. */
    keep(): boolean {
      const { id, role } = chat.messages.at(-1) ?? { id: "" };
      const isEdit = received.has(id);
      if (chat.status !== "error" || role !== "user" || unsent.has(id) || (isEdit && !edits.has(id))) return false;
      unsent.add(id);
      return isEdit;
    },

    /** A message is about to be sent with other parts. The server has got them when it no longer has those of before. */
    edit(id: string): void {
      edits.set(id, received.get(id));
    },

    /** The server has these messages. */
    receive(messages: readonly UI_MESSAGE[]): void {
      for (const { id, parts } of messages) {
        const json = JSON.stringify(parts);
        received.set(id, json);
        if (edits.get(id) === json) continue;
        edits.delete(id);
        unsent.delete(id);
      }
    },

    /** Takes an unsent message, to send it again: an edit in its place, a new message as the last one. */
    take(id: string): (UI_MESSAGE & { messageId?: string }) | undefined {
      const message = chat.messages.find((each) => each.id === id);
      if (!message || !unsent.delete(id)) return undefined;
      if (received.has(id)) return { ...message, messageId: id };
      chat.messages = chat.messages.filter((each) => each !== message);
      return message;
    },

    /**
     * The server's messages with those that it does not have. A new one stays before the message that it was before, or
     * last; an edited one stands where the server has the message before the edit.
     */
    mergedWith(server: readonly UI_MESSAGE[], local: readonly UI_MESSAGE[]): UI_MESSAGE[] {
      const merged = [...server];
      for (const [index, message] of local.entries()) {
        if (!unsent.has(message.id)) continue;
        const notEarlier = new Set(local.slice(index).map(({ id }) => id));
        const place = merged.findIndex(({ id }) => notEarlier.has(id));
        merged.splice(place < 0 ? merged.length : place, merged[place]?.id === message.id ? 1 : 0, message);
      }
      return merged;
    },
  };
}
