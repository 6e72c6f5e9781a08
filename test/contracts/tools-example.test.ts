/** The examples of docs/tools.md. Each block of that page is a part of this file, and what the page says is checked here. */
import {
  AgentTool,
  BaseTool,
  FunctionTool,
  LlmAgent,
  LongRunningFunctionTool,
  MCPToolset,
  type RunAsyncToolRequest,
} from "@google/adk";
import { type BridgeOptions, clientTool, createBridge, silentLogger } from "adk-stream-protocol";
import { memoryStore } from "adk-stream-protocol/stores/memory";
import { call, geminiAt, startScriptedGemini, text } from "adk-stream-protocol/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { openHttp } from "../fixtures/mcp-world.ts";

const { url: filesUrl, calls: fileCalls } = await openHttp();
const gemini = await startScriptedGemini({
  rules: [
    { when: ({ responses }) => responses.length > 0, say: [text("Done.")] },
    {
      when: ({ fresh }) => fresh,
      say: ({ text: said }) => [call(...(JSON.parse(said) as [string, Record<string, unknown>]))],
    },
  ],
});
const model = geminiAt({ model: "gemini-2.5-flash", url: gemini.url });

const pay = new FunctionTool({
  name: "pay",
  description: "Pays a person.",
  parameters: z.object({ amount: z.number().default(500), recipient: z.string() }),
  requireConfirmation: ({ amount }) => amount > 1000,
  execute: ({ amount, recipient }) => ({ paid: amount, to: recipient }),
});

class RebootTool extends BaseTool {
  constructor() {
    super({ name: "reboot", description: "Reboots the server." });
  }
  override _getDeclaration() {
    return { name: this.name, description: this.description };
  }
  override async runAsync(_: RunAsyncToolRequest) {
    return { rebooting: true };
  }
}

const deploy = new LongRunningFunctionTool({
  name: "deploy",
  description: "Deploys a version. The result comes later.",
  parameters: z.object({ version: z.string() }),
  requireConfirmation: true,
  execute: () => undefined,
});

const locate = clientTool({
  name: "locate",
  description: "Where the user is. Runs in the browser.",
  parameters: z.object({}),
  requireConfirmation: true,
});

const clerk = new AgentTool({
  agent: new LlmAgent({ name: "clerk", description: "Handles invoices.", model, tools: [pay] }),
});

const files = new MCPToolset({ type: "StreamableHTTPConnectionParams", url: filesUrl }, [], "fs");

const byName: Partial<BridgeOptions> = {
  tools: {
    reboot: { confirm: true },
    clerk: { confirm: true },
    fs_delete_file: { confirm: true },
  },
};

const wholeToolsets: Partial<BridgeOptions> = {
  toolsets: { confirm: true },
};

const someOfAToolset: Partial<BridgeOptions> = {
  toolsets: { confirm: (_args, { tool }) => !tool.startsWith("fs_read_") },
};

const everythingElse: Partial<BridgeOptions> = {
  unlisted: "confirm",
  tools: { fs_read_file: {} }, // known, and harmless
};

const allowSmallOnes: Partial<BridgeOptions> = {
  tools: { pay: { confirm: ({ amount }) => Number(amount) > 100 } },
};

const byPerson: Partial<BridgeOptions> = {
  tools: {
    pay: {
      confirm: ({ amount }, { actor, state }) => actor !== "boss" && Number(amount) > Number(state["limit"] ?? 0),
    },
  },
};

/** The tools whose calls a person is asked about, of those that the model calls. */
async function asks(options: Partial<BridgeOptions>, ...calls: [name: string, args: object][]): Promise<string[]> {
  const agent = new LlmAgent({
    name: "helper",
    model,
    tools: [pay, new RebootTool(), deploy, locate, clerk, files],
  });
  const store = memoryStore();
  const bridge = await createBridge({ agent, store, logger: silentLogger, ...options });
  for (const [index, asked] of calls.entries()) {
    const parts = [{ type: "text" as const, text: JSON.stringify(asked) }];
    const message = { id: `m${index}`, role: "user" as const, parts };
    const reply = await bridge.submit("me", `chat-${index}`, { type: "message", message });
    if ("turn" in reply) for await (const _ of bridge.read(reply));
  }
  const { approvals } = await bridge.approvals("me", {});
  await bridge.close();
  await store.close();
  return approvals.map(({ toolName }) => toolName).toSorted();
}

const hanako = { recipient: "Hanako" };
const file = { file: "a.txt" };

test("docs/tools.md says which calls a person is asked about", async () => {
  // What the tools themselves say.
  const all: [string, object][] = [
    ["pay", { amount: 50, ...hanako }],
    ["pay", { amount: 5000, ...hanako }],
    ["deploy", { version: "2" }],
    ["locate", {}],
    ["reboot", {}],
    ["fs_read_file", file],
    ["fs_delete_file", file],
  ];
  expect(await asks({}, ...all)).toEqual(["deploy", "locate", "pay"]);

  expect(await asks(byName, ["clerk", { request: "hello" }], ...all.slice(4))).toEqual([
    "clerk",
    "fs_delete_file",
    "reboot",
  ]);
  await expect(asks({ tools: { delete_file: { confirm: true } } })).rejects.toThrow(
    "No agent has a tool named delete_file. A toolset of helper adds the prefix fs; write fs_delete_file.",
  );
  expect(await asks(wholeToolsets, ...all.slice(4))).toEqual(["fs_delete_file", "fs_read_file"]);
  expect(await asks(someOfAToolset, ...all.slice(4))).toEqual(["fs_delete_file"]);
  expect(await asks(everythingElse, ...all.slice(4))).toEqual(["fs_delete_file", "reboot"]);

  // The amount that is left out is 500, by the schema of the tool.
  expect(await asks(allowSmallOnes, ["pay", { amount: 50, ...hanako }])).toEqual([]);
  expect(await asks(allowSmallOnes, ["pay", hanako])).toEqual(["pay"]);
  expect(await asks(byPerson, ["pay", { amount: 1, ...hanako }])).toEqual(["pay"]);

  expect(fileCalls().filter(({ name }) => name === "delete_file")).toHaveLength(1);
  await gemini.close();
});
