/** X4: whatever a tool returns, stock chats read it, send it back with their history, and go on. */
import { BaseTool } from "@google/adk";
import { call, text } from "adk-stream-protocol/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openLiveStage } from "../fixtures/live-stage.ts";
import { majors, stockChat, toolParts, validateOn, wordsOf } from "../fixtures/stock-chat.ts";
import { storeKinds } from "../fixtures/store-kinds.ts";
import { get, openWorld } from "../fixtures/world.ts";

/** Returns what the test wants. */
class AnyTool extends BaseTool {
  result: unknown;
  constructor() {
    super({ name: "work", description: "Works." });
  }
  override _getDeclaration() {
    return { name: this.name, description: this.description };
  }
  override async runAsync(): Promise<unknown> {
    return this.result;
  }
}

const rules = [
  { when: ({ responses }: { responses: readonly unknown[] }) => responses.length > 0, say: [text("Done.")] },
  { when: /go/, say: [call("work", { note: "n" })] },
  { say: [text("Hello.")] },
];

const nested = (levels: number): unknown => (levels === 0 ? "end" : { next: [nested(levels - 1)] });

const named: readonly [name: string, value: unknown][] = [
  ["__proto__", JSON.parse('{"__proto__":{"polluted":true},"a":1}')],
  ["constructor and prototype", JSON.parse('{"constructor":{"prototype":{"x":1}},"prototype":2}')],
  ["70 levels", nested(35)],
  ["400 levels", nested(200)],
  ["half of a surrogate pair", { "\uDC00key": "\uD800", pair: "😀" }],
  ["huge numbers", { max: Number.MAX_VALUE, integer: 2 ** 60, small: 5e-324, zero: -0 }],
  ["values that are not JSON", { date: new Date(0), missing: undefined, nan: Number.NaN, list: [undefined] }],
  ["a big integer", { big: 10n ** 30n }],
  ["one megabyte", { text: "é".repeat(500_000), list: Array.from({ length: 1000 }, () => "__proto__") }],
  ["a list", [1, { __proto__: null }, [[]]]],
  ["text", "done"],
  ["nothing", undefined],
  ["a value that looks like a preview", { preview: "{", size: 1, url: `/files/${"0".repeat(32)}` }],
];

const key = fc.oneof(
  fc.string({ unit: "binary", maxLength: 6 }),
  fc.constantFrom("__proto__", "constructor", "prototype", "toJSON", "then", "type", "error", "status", "length"),
);
const { value: anyJson } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 12, withCrossShrink: true },
    fc.string({ unit: "binary" }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.boolean(),
    fc.constant(null),
    tie("list"),
    tie("object"),
  ),
  list: fc.array(tie("value"), { maxLength: 4 }),
  object: fc.dictionary(key, tie("value"), { maxKeys: 4, noNullPrototype: true }),
}));

describe.each(majors)("any output of a tool, %s", (_, ai) => {
  it.each([false, true])("is read, sent back and followed by the next reply (gated: %s)", async (gated) => {
    const tool = new AnyTool();
    const world = await openWorld({ rules, tools: [tool], bridge: { tools: { work: { confirm: gated } } } });
    let chats = 0;
    const holds = async (result: unknown) => {
      tool.result = result;
      chats += 1;
      const id = `chat-${chats}`;
      const { chat, settled, errors, requests, replies } = stockChat(ai, world, { chat: id });
      await chat.sendMessage({ text: "go" });
      if (gated) {
        const [part] = toolParts(ai, (await settled()).at(-1) ?? { id: "", role: "assistant", parts: [] });
        await chat.addToolApprovalResponse({ id: part?.approval?.id ?? "", approved: true });
      }
      await settled();
      await chat.sendMessage({ text: "hello" });
      const messages = await settled();
      expect(errors).toEqual([]);
      expect(messages.map(wordsOf)).toEqual(["go", "Done.", "hello", "Hello."]);
      const [part] = toolParts(ai, messages[1] ?? { id: "", role: "assistant", parts: [] });
      expect(["output-available", "output-error"]).toContain(part?.state);
      expect(requests.at(-1)?.["messages"]).toHaveLength(3);
      for (const { status } of await replies()) expect(status).toBe(200);
      const page = (await get(world, `/stream/${id}/messages`)).body.messages;
      await ai.validateUIMessages({ messages: page });
      expect(toolParts(ai, page[1])[0]).toMatchObject(JSON.parse(JSON.stringify({ output: part?.output })) as object);
    };
    for (const [, value] of named) await holds(value);
    await fc.assert(fc.asyncProperty(anyJson, holds), { numRuns: 25 });
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
});

it.each([
  ["ai@6", "chat wire"],
  ["ai@7", "chat wire"],
  ["ai@7", "AI SDK wire"],
] as const)("any output of a tool is read and sent back, %s over the %s", async (major, wire) => {
  const ai = majors.find(([name]) => name === major)?.[1] ?? majors[1][1];
  const tool = new AnyTool();
  const world = await openWorld({ rules, tools: [tool] });
  for (const [name, value] of named) {
    tool.result = value;
    const { chat, settled, errors } = stockChat(ai, world, { chat: name, wire });
    await chat.sendMessage({ text: "go" });
    await chat.sendMessage({ text: "hello" });
    expect((await settled()).map(wordsOf), name).toEqual(["go", "Done.", "hello", "Hello."]);
    expect(errors).toEqual([]);
  }
});

describe.each(storeKinds)("any output of a tool, on $name", ({ options }) => {
  it.each(["by request", "live"])("is stored and shown to both majors, %s", async (mode) => {
    const tool = new AnyTool();
    const stage = await openLiveStage({ ...options(), rules, tools: [tool] });
    for (const [name, value] of named) {
      tool.result = value;
      const { chunks } = await stage.say("go", { live: mode === "live" });
      expect(chunks.at(-1)?.type, name).toBe("finish");
      for (const [, ai] of majors) await validateOn(ai, chunks);
    }
    await stage.restart();
    for (const [, ai] of majors) await ai.validateUIMessages({ messages: await stage.messages() });
  });
});

it("arguments of the model are made safe too", async () => {
  const args = JSON.parse('{"__proto__":{"a":1},"constructor":2}') as Record<string, unknown>;
  const tool = new AnyTool();
  tool.result = { ok: true };
  const world = await openWorld({
    rules: [...rules.slice(0, 1), { when: /go/, say: [call("work", args)] }, { say: [text("Hello.")] }],
    tools: [tool],
  });
  for (const [major, ai] of majors) {
    const { chat, settled, errors } = stockChat(ai, world, { chat: major });
    await chat.sendMessage({ text: "go" });
    await chat.sendMessage({ text: "hello" });
    const messages = await settled();
    expect(errors).toEqual([]);
    expect(messages.map(wordsOf)).toEqual(["go", "Done.", "hello", "Hello."]);
    expect(
      Object.keys(toolParts(ai, messages[1] ?? { id: "", role: "assistant", parts: [] })[0]?.input as object),
    ).toEqual(["___proto__", "_constructor"]);
  }
});
