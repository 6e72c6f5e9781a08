import type { AbstractChat, FileUIPart, TextUIPart, UIMessage } from "ai";

/**
 * The messages of a chat that could not be sent, and those of which an edit could not be sent. They stay in the chat until
 * the person sends them again or discards them.
 */
export function unsentMessages<UI_MESSAGE extends UIMessage>(chat: AbstractChat<UI_MESSAGE>) {
  const unsent = new Set<string>();
  /** The ids of the messages that the server has had, also if they were withdrawn. */
  const received = new Set<string>();
  /** The ids of messages that were sent with other parts, and the parts that they had before. */
  const edits = new Map<string, Parts>();
  const find = (id: string) => chat.messages.find((message) => message.id === id);

  /** True if the server, which has these parts of a message, has the page's edit of it. */
  const hasEdit = (id: string, parts: Parts): boolean | undefined => {
    const before = edits.get(id);
    const edited = find(id)?.parts;
    if (!before || !edited) return true;
    return isSame(parts, edited) ?? (isSame(parts, before) === false || isSame(before, edited));
  };

  return {
    ids: (): string[] => [...unsent],

    /** Remembers the last message, whose request failed: later the chat no longer shows that. Returns true for an edit. */
    keep(): boolean {
      const last = chat.messages.at(-1);
      if (last?.role !== "user") return false;
      const { id } = last;
      const isEdit = received.has(id);
      if (unsent.has(id) || (isEdit && !edits.has(id))) return false;
      unsent.add(id);
      return isEdit;
    },

    /** A message is about to be sent with other parts. */
    edit(id: string): void {
      edits.set(id, find(id)?.parts ?? []);
    },

    /** The server has these messages. */
    receive(messages: readonly UI_MESSAGE[]): void {
      for (const { id, parts } of messages) {
        received.add(id);
        if (unsent.has(id) && hasEdit(id, parts)) {
          edits.delete(id);
          unsent.delete(id);
        }
      }
    },

    /** Takes an unsent message, to send it again: an edit in its place, a new message as the last one. */
    take(id: string): (UI_MESSAGE & { messageId?: string }) | undefined {
      const message = find(id);
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

type Parts = UIMessage["parts"];

/**
 * Whether a message says the same with either parts. Undefined if that is not known: the server names a file at one time by
 * its content and at another by its address.
 */
function isSame(one: Parts, other: Parts): boolean | undefined {
  const [words, others] = [wordsOf(one), wordsOf(other)];
  if (words.length !== others.length) return false;
  const found = new Set(words.map((part, index) => isSamePart(part, others[index]!)));
  return !found.has(false) && (found.has(undefined) ? undefined : true);
}

function isSamePart(one: Word, other: Word): boolean | undefined {
  if (one.text !== other.text) return false;
  const isByValue = ({ url }: Word) => url?.startsWith("data:");
  return one.url === other.url || (isByValue(one) === isByValue(other) ? false : undefined);
}

/** A text, or a file. */
type Word = Partial<Pick<TextUIPart, "text"> & Pick<FileUIPart, "url">>;

/** What the server takes of a user's message. */
function wordsOf(parts: Parts): Word[] {
  return parts.filter((part) => (part.type === "text" ? part.text : part.type === "file")) as Word[];
}
