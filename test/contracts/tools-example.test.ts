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
import {
  type Bridge,
  type BridgeOptions,
  clientTool,
  createBridge,
  idempotencyKey,
  type Report,
  silentLogger,
  StateConflict,
} from "adk-stream-protocol";
import type { Identity } from "adk-stream-protocol/protocol";
import { listen } from "adk-stream-protocol/server";
import { memoryStore } from "adk-stream-protocol/stores/memory";
import { call, geminiAt, startScriptedGemini, text } from "adk-stream-protocol/testing";
import { expect, test, vi } from "vitest";
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

/** A bank that knows which payments were made. */
const bank = { findPayment: async (key: string) => (key === "paid" ? { paid: 500 } : undefined) };

const effects: Partial<BridgeOptions> = {
  tools: {
    pay: { effect: "queryable", lookup: (key) => bank.findPayment(key) },
    reboot: { effect: "idempotent" },
  },
};

const limits: Partial<BridgeOptions> = {
  approvalTtlMs: 15 * 60_000, // for every tool
  tools: {
    pay: { expiresMs: 5 * 60_000, startMs: 60_000, timeoutMs: 20_000 },
    deploy: { reportMs: 3 * 24 * 60 * 60_000 },
  },
};

const fetchPage = new FunctionTool({
  name: "fetch_page",
  description: "Reads a page.",
  parameters: z.object({ url: z.url() }),
  execute: async ({ url }, context) => ({ text: await (await fetch(url, { signal: context?.abortSignal })).text() }),
});

/** A service that releases versions. It keeps the keys of its jobs. */
const releases = {
  keys: [] as string[],
  async start({ key }: { version: string; key: string }): Promise<string> {
    releases.keys.push(key);
    return `job-${releases.keys.length}`;
  },
};

const release = new LongRunningFunctionTool({
  name: "release",
  description: "Releases a version. The result comes later.",
  parameters: z.object({ version: z.string() }),
  requireConfirmation: true,
  execute: async ({ version }, context) => {
    if (!context) throw new Error("The tool needs its context.");
    const job = await releases.start({ version, key: idempotencyKey(context) });
    return { job, progress: "queued" }; // the card and the model see this
  },
});

let bridge: Bridge;
const releaseToken = crypto.randomUUID();
const findUser = (request: Request): Identity | undefined =>
  request.headers.get("authorization") === "Bearer mine" ? { owner: "me", actor: "me" } : undefined;

function authenticate(request: Request): Identity | undefined {
  const token = request.headers.get("authorization");
  if (token === `Bearer ${releaseToken}`) return { owner: "me", actor: "release service" };
  return findUser(request);
}

async function onReleaseEnded(owner: string, key: string, report: Report): Promise<Response> {
  try {
    await bridge.settle(owner, key, report);
    return new Response(null, { status: 204 });
  } catch (error) {
    // Another report or the deadline came first. Sending it again changes nothing.
    if (error instanceof StateConflict) return Response.json({ state: error.approval.state }, { status: 409 });
    throw error;
  }
}

const card: Partial<BridgeOptions> = {
  tools: {
    pay: {
      title: { en: "Pay a person", ja: "送金する" },
      hint: ({ amount, recipient }) => `${recipient as string} gets ${amount as number} euros at once.`,
      icon: "💶",
      tone: "caution",
      fields: {
        amount: { label: { en: "Amount", ja: "金額" }, format: "money", currency: "EUR" },
        recipient: { label: { en: "To", ja: "宛先" } },
      },
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
  const started = await createBridge({ agent, store, logger: silentLogger, ...options });
  for (const [index, asked] of calls.entries()) {
    const parts = [{ type: "text" as const, text: JSON.stringify(asked) }];
    const message = { id: `m${index}`, role: "user" as const, parts };
    const reply = await started.submit("me", `chat-${index}`, { type: "message", message });
    if ("turn" in reply) for await (const _ of started.read(reply));
  }
  const { approvals } = await started.approvals("me", {});
  await started.close();
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
});

test("docs/tools.md says what the options mean", async () => {
  for (const options of [effects, limits]) expect(await asks(options)).toEqual([]);
  const agent = new LlmAgent({ name: "helper", model, tools: [pay, fetchPage] });
  const store = memoryStore();
  bridge = await createBridge({ agent, store, logger: silentLogger, ...card });
  await submit("pay", { amount: 5000, ...hanako });
  const { approvals } = await bridge.approvals("me", {});
  expect(approvals).toMatchObject([
    { card: { title: { en: "Pay a person" }, hint: "Hanako gets 5000 euros at once.", tone: "caution" } },
  ]);
  await bridge.close();
  await store.close();
});

test("docs/tools.md says how a long-running call is reported", async () => {
  const agent = new LlmAgent({ name: "helper", model, tools: [release] });
  const store = memoryStore();
  bridge = await createBridge({ agent, store, logger: silentLogger });
  const server = await listen({ bridge, port: 0, logger: silentLogger, authenticate });
  const send = async (path: string, token: string, body: unknown) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const response = await fetch(server.url + path, { method: "POST", headers, body: JSON.stringify(body) });
    return { status: response.status, body: (await response.json()) as { state?: string } };
  };
  const begun = async () => {
    await submit("release", { version: "2" });
    const [question] = (await bridge.approvals("me", { state: "pending" })).approvals;
    await send(`/approvals/${question?.id}`, "mine", { approved: true });
    await vi.waitFor(async () =>
      expect((await bridge.approvals("me", { state: "waiting" })).approvals).toMatchObject([
        { interim: { job: `job-${releases.keys.length}`, progress: "queued" } },
      ]),
    );
    return releases.keys.at(-1) ?? "";
  };

  const first = await begun();
  const report = { result: { url: "https://shop.example" } };
  expect(await send(`/calls/${first}`, "wrong", report)).toMatchObject({ status: 401 });
  expect(await send("/calls/unknown", releaseToken, report)).toMatchObject({ status: 404 });
  expect(await send(`/calls/${first}`, releaseToken, report)).toMatchObject({ status: 200 });
  expect(await send(`/calls/${first}`, releaseToken, report)).toMatchObject({ status: 200 });
  expect(await send(`/calls/${first}`, releaseToken, { error: "no" })).toMatchObject({
    ...{ status: 409, body: { state: "succeeded" } },
  });

  const second = await begun();
  expect((await onReleaseEnded("me", second, { error: "The tests failed." })).status).toBe(204);
  expect((await onReleaseEnded("me", second, { result: "fine" })).status).toBe(409);

  await server.close();
  await bridge.close();
  await store.close();
  await gemini.close();
});

/** The model calls a tool. */
async function submit(name: string, args: object): Promise<void> {
  const parts = [{ type: "text" as const, text: JSON.stringify([name, args]) }];
  const message = { id: `m-${crypto.randomUUID()}`, role: "user" as const, parts };
  const reply = await bridge.submit("me", `chat-${message.id}`, { type: "message", message });
  if ("turn" in reply) for await (const _ of bridge.read(reply));
}
