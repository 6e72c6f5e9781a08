/** The command `adk-stream-protocol`, as a person starts it. The agents are not written for it. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WebSocketChatTransport } from "adk-stream-protocol/client";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { addressOf, chatWith, runCli } from "../fixtures/cli-process.ts";

/** Each process loads ADK, which takes a while on a busy machine. */
const timeout = 60_000;
const agents = join(import.meta.dirname, "../fixtures/agents");
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cli-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A file beside which nothing is installed. It imports its tools as TypeScript projects do. */
const agentFile = (name: string) => `
import { LlmAgent } from "@google/adk";
import { tools } from "./tools.js";
export const rootAgent = new LlmAgent({ name: "${name}", model: "gemini-2.5-flash", tools });
`;
const toolsFile = (name: string) => `
import { existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { FunctionTool } from "@google/adk";
import { z } from "zod";
const parameters = z.object({ amount: z.number().positive(), to: z.string() });
const execute: (args: z.infer<typeof parameters>) => object = ({ amount }) => ({ paid: amount, by: "${name}" });
const wait = async () => {
  while (!existsSync(${JSON.stringify("FOLDER")} + "/go")) await delay(20);
  return { waited: "${name}" };
};
export const tools = [
  new FunctionTool({ name: "${name}", description: "Pays.", parameters, requireConfirmation: true, execute }),
  new FunctionTool({ name: "wait_for_file", description: "Waits.", parameters: z.object({}), execute: wait }),
];
`;
const commonJsFile = `
const { FunctionTool, LlmAgent } = require("@google/adk");
const { z } = require("zod");
const look = new FunctionTool({ name: "look", description: "Looks.", parameters: z.object({}), execute: () => ({}) });
exports.agent = new LlmAgent({ name: "watcher", model: "gemini-2.5-flash", tools: [look] });
`;
const write = (file: string, text: string) => writeFileSync(join(folder, file), text.replaceAll("FOLDER", folder));

/** Sends a message over the WebSocket, and returns the types of the reply's chunks. */
async function sayLive(url: string, chatId: string, text: string): Promise<string[]> {
  const transport = new WebSocketChatTransport({ url: `${url.replace("http", "ws")}/live` });
  const messages = [{ id: `${chatId}-1`, role: "user" as const, parts: [{ type: "text" as const, text }] }];
  const options = { trigger: "submit-message" as const, messageId: undefined, abortSignal: undefined };
  const types: string[] = [];
  for await (const chunk of await transport.sendMessages({ ...options, chatId, messages })) types.push(chunk.type);
  transport.close();
  return types;
}

describe("dev", () => {
  it("reloads what the agent imports, keeps the chats, and survives a broken save", { timeout }, async () => {
    write("agent.ts", agentFile("cashier"));
    write("tools.ts", toolsFile("pay"));
    const cli = runCli(["dev", "./agent.ts", "--port", "0", "--no-open"], { cwd: folder });
    const url = await addressOf(cli);
    await cli.printed(/Model: scripted Gemini/);
    expect(await (await fetch(url)).text()).toContain('<div id="root">');
    const chat = chatWith(url, "chat-1");

    expect(await chat.say("Hello")).toContain("scripted");
    await chat.say("call pay");
    const [question] = await chat.approvals();
    expect(question).toMatchObject({ toolName: "pay", state: "pending", input: { amount: 1, to: "example to" } });
    await chat.approve(question?.id ?? "");
    await expect.poll(() => chat.texts()).toContain('pay returned {"paid":1,"by":"pay"}');

    // A reply that runs ends with the agent that began it.
    const slow = chat.say("call wait_for_file");
    await expect.poll(async () => (await chat.texts()).includes("wait_for_file")).toBe(true);
    write("tools.ts", toolsFile("refund"));
    await cli.printed(/The new agent starts when the running reply has ended/);
    expect((await chat.agent()).tools).toContain("pay");
    write("go", "");
    expect(await slow).toContain('"waited":"pay"');
    await cli.printed(/Reloaded \.\/agent\.ts/);
    expect((await chat.agent()).tools).toContain("refund");
    await chat.say("call refund");
    expect((await chat.approvals()).filter(({ state }) => state === "pending")).toMatchObject([{ toolName: "refund" }]);

    write("tools.ts", "export const tools = [;\n");
    await cli.printed(/tools\.ts:1: Expression expected\. The last good agent keeps running\./);
    expect((await chat.agent()).problem).toBe("tools.ts:1: Expression expected.");
    expect(await chat.say("Are you there?")).toContain("scripted");

    // The chats stay with the file, also if the agent gets another name.
    write("agent.ts", agentFile("teller"));
    write("tools.ts", toolsFile("pay"));
    await expect.poll(() => chat.agent()).toMatchObject({ name: "teller", tools: ["pay", "wait_for_file"] });
    expect((await chat.agent()).problem).toBeUndefined();
    expect(await chat.texts()).toContain('pay returned {"paid":1,"by":"pay"}');

    expect(await sayLive(url, "live", "call pay")).toContain("tool-approval-request");

    cli.kill("SIGINT");
    expect(await cli.ended).toBe(0);
  });

  it("goes on, and stops when it is told to, if its terminal is closed", { timeout }, async () => {
    write("agent.ts", agentFile("cashier"));
    write("tools.ts", toolsFile("pay"));
    const cli = runCli(["dev", "./agent.ts", "--port", "0"], { cwd: folder });
    const chat = chatWith(await addressOf(cli), "chat-1");
    cli.closeOutput();
    write("tools.ts", toolsFile("refund"));
    await expect.poll(async () => (await chat.agent()).tools, { timeout: 20_000 }).toContain("refund");
    expect(await chat.say("Are you there?")).toContain("scripted");
    cli.kill("SIGTERM");
    expect(await cli.ended).toBe(0);
  });

  const open = async (file: string) => {
    const cli = runCli(["dev", `./${file}`, "--port", "0", "--data", folder], { cwd: agents });
    return addressOf(cli);
  };

  it.each([
    ["sub-agents", "team.ts", "refund_order を呼んで", "refund_order"],
    ["an MCP server", "files.mjs", "call delete_file", "delete_file"],
    ["a long-running tool", "release.ts", "release", "release"],
  ])("asks in both modes for an agent with %s, not written for it", { timeout }, async (_, file, said, toolName) => {
    const url = await open(file);
    const [sse, live] = [chatWith(url, "sse"), chatWith(url, "live")];
    const reply = await sse.say(said);
    expect(await sse.approvals(), reply).toMatchObject([{ toolName, state: "pending" }]);
    expect(await sayLive(url, "live", said)).toContain("tool-approval-request");
    expect(await live.approvals()).toMatchObject([{ toolName, state: "pending" }]);
  });

  it.each([
    ["code execution", "calculator.js", "run some code", "The code printed 42.", {}],
    [
      ...(["structured output", "extractor.ts", "Invoice 17", "example number"] as const),
      { invoice: { number: "example number", currency: "USD" } },
    ],
  ])("responds in both modes as an agent with %s", { timeout }, async (_, file, said, expected, state) => {
    const url = await open(file);
    const [sse, live] = [chatWith(url, "sse"), chatWith(url, "live")];
    await sse.say(said);
    await sayLive(url, "live", said);
    for (const chat of [sse, live]) {
      expect(await chat.texts()).toContain(expected);
      expect(await chat.state()).toMatchObject(state);
    }
  });
});

it("a JavaScript file with imports needs no package.json and causes no warning", { timeout }, async () => {
  const file = `import { LlmAgent } from "@google/adk";
export default new LlmAgent({ name: "helper", model: "gemini-2.5-flash" });`;
  write("agent.js", file);
  const cli = runCli(["dev", "agent.js", "--port", "0"], { cwd: folder });
  expect(await chatWith(await addressOf(cli), "chat-1").say("Hello")).toContain("scripted");
  expect(cli.output()).not.toContain("Warning");
});

it("serve does not watch, and refuses to serve others without authenticate", { timeout }, async () => {
  write("agent.cjs", commonJsFile);
  const refused = runCli(["serve", "agent.cjs", "--host", "0.0.0.0", "--port", "0"], { cwd: folder });
  expect(await refused.ended).toBe(1);
  expect(refused.output()).toMatch(/^serve on 0\.0\.0\.0 needs to know who sends a request: .*\n$/);
  const data = join(folder, "data");
  const cli = runCli(["serve", "agent.cjs", "--ask", "all"], { cwd: folder, env: { PORT: "0", DATA_DIR: data } });
  const chat = chatWith(await addressOf(cli), "chat-1");
  await chat.say("call look");
  expect(await chat.approvals()).toMatchObject([{ toolName: "look", state: "pending" }]);

  // `dev` sees the change, so `serve` has had the time to see it too.
  const dev = runCli(["dev", "agent.cjs", "--port", "0"], { cwd: folder });
  await addressOf(dev);
  write("agent.cjs", commonJsFile.replace('"look"', '"watch"'));
  await dev.printed(/Reloaded agent\.cjs/);
  expect((await chat.agent()).tools).toEqual(["look"]);
  expect(cli.output()).not.toContain("Reloaded");
});

it("dev --ask declared asks only about tools that say so themselves", { timeout }, async () => {
  const args = ["dev", "./files.mjs", "--ask", "declared", "--port", "0", "--data", folder];
  const chat = chatWith(await addressOf(runCli(args, { cwd: agents })), "chat-1");
  await chat.say("call delete_file");
  await expect.poll(() => chat.texts()).toContain("delete_file returned");
  expect(await chat.approvals()).toEqual([]);
});

it("a start that fails prints one sentence and exits with 1", { timeout }, async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  const { port } = taken.address() as AddressInfo;
  const other =
    'import { LlmAgent } from "@google/adk";\nexport default new LlmAgent({ name: "a", model: "claude-opus" });';
  const fails: [string, string | undefined, RegExp, ...string[]][] = [
    [
      "readonly.ts",
      other.replace("claude-opus", "gemini-2.5-flash"),
      /^The chats cannot be kept in \/dev\/null\/chats \(ENOTDIR\)\. Choose another folder with --data\.\n$/,
      ...["--data", "/dev/null/chats"],
    ],
    ["missing.ts", undefined, /^There is no file missing\.ts\.\n$/],
    ["wrong.ts", "const a = 1;\nconst b = ;", /^wrong\.ts:2: Expression expected\.\n$/],
    [
      "mute.ts",
      other.replace(', model: "claude-opus"', ""),
      /^The agent a in mute\.ts has no model\. Give it one, such as "gemini-2\.5-flash"\.\n$/,
    ],
    ["none.js", "export const price = 5;", /^none\.js exports no agent\. .*; the exports are price\.\n$/],
    ["other.ts", other, /^There is no key for the model claude-opus of the agent a, and it cannot be scripted\. .*\n$/],
    [
      "busy.ts",
      other.replace("claude-opus", "gemini-2.5-flash"),
      /^Port \d+ is taken\. Choose another one with --port\.\n$/,
    ],
  ];
  await Promise.all(
    fails.map(async ([file, content, sentence, ...options]) => {
      if (content !== undefined) write(file, content);
      const cli = runCli(["dev", file, "--port", String(port), ...options], { cwd: folder });
      expect(await cli.ended).toBe(1);
      expect(cli.output()).toMatch(sentence);
    }),
  );
  await new Promise((resolve) => taken.close(resolve));
});
