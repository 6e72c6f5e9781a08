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

    const transport = new WebSocketChatTransport({ url: `${url.replace("http", "ws")}/live` });
    const message = { id: "live-1", role: "user" as const, parts: [{ type: "text" as const, text: "call pay" }] };
    const reply = await transport.sendMessages({
      ...{ trigger: "submit-message", chatId: "live", messageId: undefined, messages: [message] },
      abortSignal: undefined,
    });
    const types: string[] = [];
    for await (const chunk of reply) types.push(chunk.type);
    expect(types).toContain("tool-approval-request");
    transport.close();

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

  it("shows the first card, or the first reply, for agents that were not written for it", { timeout }, async () => {
    const asks = [
      ["team.ts", "refund_order を呼んで", "refund_order"],
      ["files.mjs", "call delete_file", "delete_file"],
      ["release.ts", "release", "release"],
    ] as const;
    const replies = [
      ["calculator.js", "run some code", "The code printed 42.", {}],
      ["extractor.ts", "Invoice 17", "example number", { invoice: { number: "example number", currency: "USD" } }],
    ] as const;
    const open = async (file: string) => {
      const cli = runCli(["dev", `./${file}`, "--port", "0", "--data", join(folder, file)], { cwd: agents });
      return chatWith(await addressOf(cli), "chat-1");
    };
    await Promise.all([
      ...asks.map(async ([file, said, toolName]) => {
        const chat = await open(file);
        await chat.say(said);
        expect(await chat.approvals()).toMatchObject([{ toolName, state: "pending" }]);
      }),
      ...replies.map(async ([file, said, expected, state]) => {
        const chat = await open(file);
        await chat.say(said);
        expect(await chat.texts()).toContain(expected);
        expect(await chat.state()).toMatchObject(state);
      }),
    ]);
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
});

it("a start that fails prints one sentence and exits with 1", { timeout }, async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  const { port } = taken.address() as AddressInfo;
  const other =
    'import { LlmAgent } from "@google/adk";\nexport default new LlmAgent({ name: "a", model: "claude-opus" });';
  const fails: [string, string | undefined, RegExp][] = [
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
    fails.map(async ([file, content, sentence]) => {
      if (content !== undefined) write(file, content);
      const cli = runCli(["dev", file, "--port", String(port)], { cwd: folder });
      expect(await cli.ended).toBe(1);
      expect(cli.output()).toMatch(sentence);
    }),
  );
  await new Promise((resolve) => taken.close(resolve));
});
