import type { UIMessage } from "ai";

/** Messages that are drawn together. */
export interface MessageBlock {
  /** The id of the first message, which stays the first: older messages are in blocks of their own. */
  id: string;
  messages: readonly UIMessage[];
}

const maxMessages = 100;

/**
 * Cuts messages into blocks. A message never moves to another block: the first message of each page begins a block, and a
 * block that is full is followed by another. Blocks whose messages are the same are the same objects as `before`.
 */
export function messageBlocks(messages: readonly UIMessage[], before: readonly MessageBlock[] = []): MessageBlock[] {
  const known = new Map(before.map((block) => [block.id, block]));
  const blocks: { id: string; messages: UIMessage[] }[] = [];
  for (const message of messages) {
    const last = blocks.at(-1);
    if (last && last.messages.length < maxMessages && !known.has(message.id)) last.messages.push(message);
    else blocks.push({ id: message.id, messages: [message] });
  }
  return blocks.map((block) => {
    const old = known.get(block.id);
    return old && isSame(old.messages, block.messages) ? old : block;
  });
}

function isSame(one: readonly UIMessage[], other: readonly UIMessage[]): boolean {
  return one.length === other.length && one.every((message, index) => message === other[index]);
}
