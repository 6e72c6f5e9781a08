/** Real MCP servers, as processes and over HTTP. The tests check what the server was asked to do. */
import { LlmAgent } from "@google/adk";
import type { BridgeOptions } from "adk-stream-protocol";
import { call, type Rule, text } from "adk-stream-protocol/testing";
import { describe, expect, it, vi } from "vitest";
import { holdTimers } from "../fixtures/hold-timers.ts";
import { liveRules, type LiveStage, openLiveStage } from "../fixtures/live-stage.ts";
import { fileTools } from "../fixtures/mcp-server.ts";
import { openMcp, type McpTransport, type McpWorld } from "../fixtures/mcp-world.ts";
import { owner } from "../fixtures/mortal-process.ts";
import { expectSound } from "../fixtures/sound.ts";
import { storeKinds } from "../fixtures/store-kinds.ts";
import { sequence, textOf, userMessage } from "../fixtures/world.ts";

const transports: readonly McpTransport[] = ["stdio", "HTTP"];
const modes = [
  { mode: "by request", live: false },
  { mode: "live", live: true },
] as const;

const asksOnce = "start ss tis tia tar fs finish [DONE]";
const goesOn = "start toa ss text fs finish [DONE]";
const failed = "start toe ss text fs finish [DONE]";
const spoken = "start ss text fs finish [DONE]";
const runs = "start ss tis tia toa fs ss text fs finish [DONE]";
const file = { file: "a.txt" };

/** A model that deletes or reads a file when it is told to. */
const rules = (prefix = ""): readonly Rule[] => [
  { when: /^delete$/, say: [call(`${prefix}delete_file`, file)] },
  { when: /^read$/, say: [call(`${prefix}read_file`, file)] },
  { when: /^mail$/, say: [call("send_mail", { subject: "Budget", to: "hanako@example.com" })] },
  { when: ({ responses }) => responses.length > 0, say: [text("So it is.")] },
  ...liveRules,
];

interface StoryOptions {
  prefix?: string;
  bridge: Partial<BridgeOptions>;
  store?: (typeof storeKinds)[number];
}

const openStory = (mcp: McpWorld, { prefix, bridge, store }: StoryOptions) =>
  openLiveStage({
    ...store?.options(),
    rules: rules(prefix && `${prefix}_`),
    agent: ({ model }) => new LlmAgent({ name: "root_agent", model: model(), tools: [mcp.toolset(prefix)] }),
    bridge,
  });

const yes = async (stage: LiveStage, live: boolean) => {
  const open = await stage.pending();
  expect(open).toHaveLength(1);
  return stage.answer(
    open.map(({ id }) => ({ id, approved: true })),
    { live },
  );
};
const outcomes = async (stage: LiveStage) => (await stage.rows()).map(({ state, outcome }) => ({ state, outcome }));
const done = (name: string) => ({ content: [{ type: "text", text: `${name} is done.` }] });

describe.each(transports)("an MCP server over %s", (transport) => {
  describe.each(modes)("$mode", ({ live }) => {
    it("is gated whole", async () => {
      const mcp = await openMcp(transport);
      const stage = await openStory(mcp, { bridge: { toolsets: { confirm: true } } });
      expect(sequence(await stage.say("read", { live }))).toBe(asksOnce);
      expect(mcp.calls()).toEqual([]);
      expect(sequence(await yes(stage, live))).toBe(goesOn);
      expect(mcp.calls()).toEqual([{ name: "read_file", args: file }]);
      expect(await outcomes(stage)).toEqual([{ state: "succeeded", outcome: done("read_file") }]);
      await expectSound(stage);
    });

    it("has the order of a call's arguments from its own schema", async () => {
      const string = { type: "string" };
      const inputSchema = { type: "object" as const, properties: { to: string, cc: string, subject: string } };
      const mcp = await openMcp(transport, { tools: [{ name: "send_mail", description: "Sends.", inputSchema }] });
      const stage = await openStory(mcp, { bridge: { toolsets: { confirm: true } } });
      expect(sequence(await stage.say("mail", { live }))).toBe(asksOnce);
      const [row] = await stage.rows();
      expect(JSON.stringify(row?.card)).toBe('{"fields":{"to":{},"subject":{}}}');
      expect(sequence(await yes(stage, live))).toBe(goesOn);
      expect(mcp.calls()).toEqual([{ name: "send_mail", args: { subject: "Budget", to: "hanako@example.com" } }]);
      await expectSound(stage);
    });

    it("is gated by the name of a tool, with the prefix of its toolset", async () => {
      const mcp = await openMcp(transport);
      const tools = { fs_delete_file: { confirm: true } };
      const stage = await openStory(mcp, { prefix: "fs", bridge: { tools } });
      expect(sequence(await stage.say("read", { live }))).toBe(runs);
      expect(sequence(await stage.say("delete", { live }))).toBe(asksOnce);
      expect(mcp.calls()).toEqual([{ name: "read_file", args: file }]);
      await yes(stage, live);
      expect(mcp.calls().at(-1)).toEqual({ name: "delete_file", args: file });
      await expectSound(stage);
    });
  });

  it("does not start with a policy whose name lacks the prefix, or is misspelt (X8)", async () => {
    const mcp = await openMcp(transport);
    const open = (name: string) => openStory(mcp, { prefix: "fs", bridge: { tools: { [name]: { confirm: true } } } });
    await expect(open("delete_file")).rejects.toThrow(
      "No agent has a tool named delete_file. A toolset of root_agent adds the prefix fs; write fs_delete_file.",
    );
    await expect(open("fs_delet_file")).rejects.toThrow("For fs_delet_file, did you mean fs_delete_file?");
  });

  it("that does not list its tools counts as away after 10 seconds, and chats go on without its tools", async () => {
    const mcp = await openMcp(transport, { hangs: "listing" });
    const limits = holdTimers(10_000);
    const opening = openStory(mcp, { prefix: "fs", bridge: { tools: { fs_delete_file: { confirm: true } } } });
    await vi.waitFor(() => expect(limits.running()).toBeGreaterThan(0), { timeout: 10_000 });
    limits.pass();
    const stage = await opening;
    expect(stage.warnings.join()).toContain("It took longer than 10000 ms.");
    expect(stage.warnings.at(-1)).toContain("Toolsets could not be listed; until they can be, calls");
    for (const { live } of modes) expect(sequence(await stage.say("hello", { live }))).toBe(spoken);
  });

  it("that hangs in a call leaves other chats alone, and its result counts when it comes", async () => {
    const mcp = await openMcp(transport, { hangs: "calls" });
    const stage = await openStory(mcp, { bridge: { toolsets: { confirm: true } } });
    await stage.say("delete", { live: false });
    const reply = yes(stage, false);
    await stage.until(() => mcp.calls().length === 1);
    // The run of another chat ends meanwhile. ADK would close the toolset then, and with it the call (K26).
    const other = await stage.bridge.submit(owner, "chat-2", { type: "message", message: userMessage("hello") });
    if ("turn" in other) for await (const _ of stage.bridge.read(other));
    expect((await stage.rows()).map(({ state }) => state)).toEqual(["executing"]);
    mcp.plan({ hangs: undefined });
    expect(sequence(await reply)).toBe(goesOn);
    expect(await outcomes(stage)).toEqual([{ state: "succeeded", outcome: done("delete_file") }]);
    expect(mcp.calls()).toHaveLength(1);
  });
});

it("a server that no longer lists its tools delays an approved call of another tool by no more than its limit (X13)", async () => {
  const mcp = await openMcp("HTTP");
  const stage = await openLiveStage({
    rules: [{ when: /^pay$/, say: [call("process_payment", { amount: 5, recipient: "Hanako" })] }, ...rules()],
    agent: ({ model, tools }) => new LlmAgent({ name: "root_agent", model: model(), tools: [mcp.toolset(), ...tools] }),
  });
  await stage.say("pay", { live: false });
  mcp.plan({ hangs: "listing" });
  const limits = holdTimers(10_000);
  const reply = yes(stage, false);
  await stage.until(async () => (await stage.rows()).every(({ state }) => state === "succeeded"));
  expect(stage.warnings.join()).not.toContain("It took longer");
  await stage.until(() => limits.running() > 0);
  limits.pass();
  expect(sequence(await reply)).toBe(goesOn);
  expect(stage.warnings.join()).toContain("It took longer than 10000 ms.");
  expect(stage.payments).toHaveLength(1);
});

describe.each(modes)("an MCP server, $mode,", ({ live }) => {
  it.each(transports)("that dies in the middle of a call over %s has failed, and is asked once", async (transport) => {
    const mcp = await openMcp(transport, { fails: "death" });
    const stage = await openStory(mcp, { bridge: { toolsets: { confirm: true } } });
    await stage.say("delete", { live });
    expect(sequence(await yes(stage, live))).toBe(failed);
    expect(await outcomes(stage)).toEqual([{ state: "failed", outcome: { error: expect.stringMatching(/./) } }]);
    expect(mcp.calls()).toHaveLength(1);
  });

  it.each(storeKinds)("that reports an error has failed, on $name (X21)", async (store) => {
    const mcp = await openMcp("HTTP", { fails: "result" });
    const stage = await openStory(mcp, { store, bridge: { toolsets: { confirm: true } } });
    await stage.say("delete", { live });
    const reply = await yes(stage, live);
    expect(sequence(reply)).toBe(failed);
    expect(await outcomes(stage)).toEqual([{ state: "failed", outcome: { error: "The disk is full." } }]);
    expect(textOf(reply)).toBe("So it is.");
  });

  it("that changes a tool while the question waits does not get the call", async () => {
    const mcp = await openMcp("HTTP");
    const stage = await openStory(mcp, { bridge: { toolsets: { confirm: true } } });
    await stage.say("delete", { live });
    const [, read] = fileTools;
    const swapped = { ...fileTools[0], name: "delete_file", description: "Deletes everything." };
    mcp.plan({ tools: [{ ...swapped, inputSchema: { type: "object", properties: {} } }, ...(read ? [read] : [])] });
    await yes(stage, live);
    expect(mcp.calls()).toEqual([]);
    expect((await stage.rows()).map(({ state }) => state)).toEqual(["failed"]);
  });

  it("that cannot be listed at the start is held whole if it turns out that a policy is for no tool (X8)", async () => {
    const mcp = await openMcp("HTTP", { fails: "listing" });
    const stage = await openStory(mcp, { prefix: "fs", bridge: { tools: { delete_file: { confirm: true } } } });
    mcp.plan({ fails: undefined });
    expect(sequence(await stage.say("read", { live }))).toBe(asksOnce);
    expect(stage.loggedErrors.join()).toContain("adds the prefix fs; write fs_delete_file.");
    expect(mcp.calls()).toEqual([]);
    await yes(stage, live);
    expect(mcp.calls()).toEqual([{ name: "read_file", args: file }]);
  });

  it("that cannot be listed at the start is free again once its names are found to be right", async () => {
    const mcp = await openMcp("HTTP", { fails: "listing" });
    const stage = await openStory(mcp, { prefix: "fs", bridge: { tools: { fs_delete_file: { confirm: true } } } });
    mcp.plan({ fails: undefined });
    expect(sequence(await stage.say("read", { live }))).toBe(runs);
    expect(sequence(await stage.say("delete", { live }))).toBe(asksOnce);
    expect(mcp.calls()).toHaveLength(1);
  });

  it("that renames a tool with a policy is held whole", async () => {
    const mcp = await openMcp("HTTP", { tools: [{ name: "delete_file", inputSchema: { type: "object" } }] });
    const stage = await openStory(mcp, { bridge: { tools: { delete_file: { confirm: true } } } });
    mcp.plan({ tools: [...fileTools].map((tool) => ({ ...tool, name: tool.name.replace("delete", "remove") })) });
    expect(sequence(await stage.say("read", { live }))).toBe(asksOnce);
    expect(stage.loggedErrors.join()).toContain("No agent has a tool named delete_file.");
    expect(mcp.calls()).toEqual([]);
  });

  it("asks about unlisted tools if it is to, and not about those that a policy names", async () => {
    const mcp = await openMcp("HTTP");
    const stage = await openStory(mcp, { bridge: { unlisted: "confirm", tools: { read_file: {} } } });
    expect(sequence(await stage.say("read", { live }))).toBe(runs);
    expect(sequence(await stage.say("delete", { live }))).toBe(asksOnce);
    expect(mcp.calls()).toHaveLength(1);
  });

  it("asks by a predicate that knows the arguments, the owner and the state", async () => {
    const mcp = await openMcp("HTTP");
    const seen: unknown[] = [];
    const tools = { delete_file: { confirm: (...given: unknown[]) => seen.push(given) < 2 } };
    const stage = await openStory(mcp, { bridge: { tools } });
    expect(sequence(await stage.say("delete", { live }))).toBe(asksOnce);
    expect(seen).toEqual([[file, { tool: "delete_file", owner, actor: owner, state: {} }]]);
    await yes(stage, live);
    expect(sequence(await stage.say("delete", { live }))).toBe(runs);
    expect(mcp.calls()).toHaveLength(2);
  });
});
