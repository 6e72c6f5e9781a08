import type { UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import { messageBlocks } from "./message-blocks.ts";

const message = (id: number): UIMessage => ({ id: `m${id}`, role: "user", parts: [{ type: "text", text: `${id}` }] });
const all = Array.from({ length: 500 }, (_, id) => message(id));
const sizes = (blocks: ReturnType<typeof messageBlocks>) => blocks.map(({ messages }) => messages.length);

describe("blocks of messages", () => {
  it("are full before another begins", () => {
    expect(sizes(messageBlocks(all.slice(0, 250)))).toEqual([100, 100, 50]);
    expect(messageBlocks([])).toEqual([]);
  });

  it("stay as they are when older messages come before them", () => {
    const first = messageBlocks(all.slice(400, 450));
    const more = messageBlocks(all.slice(350, 450), first);
    expect(sizes(more)).toEqual([50, 50]);
    expect(more[1]).toBe(first[0]);
    const many = messageBlocks(all.slice(100, 450), more);
    expect(sizes(many)).toEqual([100, 100, 50, 50, 50]);
    expect(many.slice(3)).toEqual(more);
    expect(many.flatMap(({ messages }) => messages)).toEqual(all.slice(100, 450));
  });

  it("only change at the end when messages are added there, and no message moves to another block", () => {
    let blocks = messageBlocks(all.slice(0, 50));
    const places = new Map<string, string>();
    for (let end = 51; end <= 230; end++) {
      const next = messageBlocks(all.slice(0, end), blocks);
      for (const [index, block] of next.slice(0, -1).entries())
        if (block.messages.length === blocks[index]?.messages.length) expect(block).toBe(blocks[index]);
      for (const { id, messages } of next)
        for (const each of messages) expect(places.get(each.id) ?? id, each.id).toBe(id);
      for (const { id, messages } of next) for (const each of messages) places.set(each.id, id);
      blocks = next;
    }
    expect(sizes(blocks)).toEqual([100, 100, 30]);
  });

  it("are new objects when one of their messages is", () => {
    const before = messageBlocks(all.slice(0, 150));
    const changed = [...all.slice(0, 149), { ...message(149), metadata: { error: "x" } }];
    const after = messageBlocks(changed, before);
    expect(after[0]).toBe(before[0]);
    expect(after[1]).not.toBe(before[1]);
    expect(after[1]?.messages.at(-1)).toBe(changed[149]);
  });
});
