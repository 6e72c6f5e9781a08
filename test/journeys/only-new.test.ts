/**
 * Clients send their whole history with every request. Of it only the new message or the answers are read, so a chat goes
 * on whatever its older messages contain (X4, X5).
 */
import { FunctionTool } from "@google/adk";
import { call, text, type Rule } from "adk-stream-protocol/testing";
import type { UIMessage } from "ai";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { endSockets, openSocket } from "../fixtures/raw-socket.ts";
import { type Ai, majors, partStates, stockChat, toolParts, type Wire, wordsOf } from "../fixtures/stock-chat.ts";
import { storeKinds } from "../fixtures/store-kinds.ts";
import {
  afterTools,
  answer,
  asked,
  demoTools,
  ledger,
  messagesOf,
  openWorld,
  payRules,
  post,
  receive,
  say,
  userMessage,
  type World,
  type WorldOptions,
} from "../fixtures/world.ts";

afterEach(endSockets);

const MiB = 1024 * 1024;
const wires: readonly Wire[] = ["SSE", "chat wire", "AI SDK wire"];

/** Sends a request as it is over a wire. Returns the reply as text, or what the server said instead. */
async function sendOver(wire: Wire, world: World, request: string): Promise<string> {
  if (wire === "SSE") return (await receive(await post(world, "/stream", request))).body;
  const client = await openSocket(world);
  const type = wire === "chat wire" ? '"type":"message"' : '"type":"send","requestId":"r"';
  client.send(request.replace("{", `{${type},`));
  const isOver = ({ type: kind }: { type: string }) => kind === "end" || kind === "error";
  const reply = client.until(({ done, controls }) => done > 0 || controls.some(isOver));
  return Promise.race([reply.then(() => client.frames.join("")), client.closed.then(({ code }) => `closed ${code}`)]);
}

const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
const values: Record<string, string> = {
  "a __proto__ key": '{"__proto__":{"polluted":true}}',
  "a constructor key": '{"constructor":{"prototype":{"polluted":true}}}',
  "70 levels": nested(70),
  "5 MB": `"${"x".repeat(5_000_000)}"`,
};

describe.each(wires)("over %s", (wire) => {
  it("X4: an old message may contain anything, and a new one may not", async () => {
    const world = await openWorld();
    for (const [name, value] of Object.entries(values)) {
      const part = (more: string) => `{"type":"tool-x","toolCallId":"x","state":"output-available"${more}}`;
      const old = `{"id":"old","role":"assistant","parts":[${part(`,"input":${value},"output":${value}`)}]}`;
      const chat = `"id":"${wire} ${name}"`;
      const fresh = JSON.stringify(userMessage("hello"));
      const reply = await sendOver(wire, world, `{${chat},"messages":[${old},${fresh}],"messageId":"old2"}`);
      expect([name, reply]).toEqual([name, expect.stringContaining("friend.")]);
      const bad = `{"role":"user","parts":[{"type":"text","text":"hi","x":${value}}]}`;
      const refusal = await sendOver(wire, world, `{${chat},"messages":[${fresh},${bad}]}`);
      expect([name, refusal.slice(0, 300)]).toEqual([
        name,
        expect.stringMatching(/a key that is not allowed|deeper than 64|too_large|closed 1009/),
      ]);
    }
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    expect(world.gemini.requests).toHaveLength(4);
  });

  it("a whole request may have up to 32 MiB", async () => {
    const world = await openWorld();
    const sized = (size: number) => {
      const [head, tail] = ['{"id":"chat-1","messages":[{"x":"', `"},${JSON.stringify(userMessage("hello"))}]}`];
      return head + "x".repeat(size - head.length - tail.length) + tail;
    };
    expect(await sendOver(wire, world, sized(32 * MiB - 100))).toContain("friend.");
    expect(await sendOver(wire, world, sized(32 * MiB + 100))).toMatch(/too_large|closed 1009/);
  });
});

describe.each(majors)("with %s", (_major, ai) => {
  const report = new FunctionTool({
    name: "read_report",
    description: "A page of a report.",
    parameters: z.object({ page: z.number() }),
    execute: ({ page }) => ({ page, text: "x".repeat(250_000) }),
  });
  const payment = call("process_payment", { amount: 50, recipient: "Hanako" });
  const readThenPay: readonly Rule[] = [
    { when: ({ responses }) => responses.some(({ name }) => name === "process_payment"), say: [text("Paid.")] },
    { when: ({ responses, text: words }) => responses.length > 0 && words === "read", say: [text("Read.")] },
    { when: ({ responses }) => responses.length > 0, say: [payment] },
    { when: /read/, say: Array.from({ length: 18 }, (_, page) => call("read_report", { page })) },
    { say: [payment] },
  ];
  const openReports = async (options: Partial<WorldOptions> = {}) => {
    const payments: World["payments"] = [];
    const world = await openWorld({ rules: readThenPay, tools: [...demoTools(payments), report], ...options });
    world.payments = payments;
    return world;
  };

  it.each(wires)(
    "X5: a yes counts once after more than 4 MiB of results in the same message, over %s",
    async (wire) => {
      const world = await openReports();
      const { chat, settled, errors, requests } = stockChat(ai, world, { wire });
      await chat.sendMessage({ text: "read and pay" });
      await approveLast(ai, chat, settled);
      const messages = await settled();
      expect(errors).toEqual([]);
      expect(JSON.stringify(requests.at(-1)).length).toBeGreaterThan(4 * MiB);
      expect(world.payments).toEqual([{ amount: 50, recipient: "Hanako" }]);
      expect(wordsOf(messages.at(-1)!)).toBe("Paid.");
      expect((await messagesOf(world)).map(partStates)).toEqual(messages.map(partStates));
    },
  );

  it("X5: the same after the results of an earlier message, on SQLite", async () => {
    const world = await openReports(storeKinds.find(({ name }) => name === "SQLite")?.options());
    const { chat, settled, errors } = stockChat(ai, world);
    await chat.sendMessage({ text: "read" });
    await settled();
    await chat.sendMessage({ text: "pay" });
    await approveLast(ai, chat, settled);
    expect(errors).toEqual([]);
    expect(world.payments).toHaveLength(1);
  });

  it.each(wires)("X4: a tool may return what a request must not contain, over %s", async (wire) => {
    const odd = new FunctionTool({
      name: "get_weather",
      description: "The weather.",
      parameters: z.object({ location: z.string() }),
      execute: () => ({ prototype: 1, constructor: "x", deep: JSON.parse(nested(70)) as unknown }),
    });
    const world = await openWorld({ tools: [...demoTools([]).filter(({ name }) => name !== odd.name), odd] });
    const { chat, settled, errors } = stockChat(ai, world, { wire });
    for (const words of ["weather", "hello", "weather", "pay"]) {
      await chat.sendMessage({ text: words });
      await settled();
    }
    await approveLast(ai, chat, settled);
    await chat.sendMessage({ text: "hello" });
    expect(wordsOf((await settled()).at(-1)!)).toBe("Hello there, friend.");
    expect(errors).toEqual([]);
    expect((await ledger(world)).map(({ state }) => state)).toEqual(["succeeded"]);
  });

  it.each(wires)("X4: an output of a browser tool that is refused ends its call, over %s", async (wire) => {
    const world = await openWorld({
      rules: [{ when: afterTools.when!, say: [text("I see.")] }, ...payRules.slice(1)],
    });
    const { chat, settled, errors } = stockChat(ai, world, { wire, predicate: "either" });
    await chat.sendMessage({ text: "music" });
    const message = (await settled()).at(-1)!;
    const { toolCallId } = toolParts(ai, message)[0]!;
    const output = JSON.parse('{"list":[{"__proto__":{"polluted":true}}]}') as unknown;
    await chat.addToolOutput({ tool: "change_bgm", toolCallId, output: output as never });
    const [part] = toolParts(ai, (await settled()).at(-1)!);
    expect(part).toMatchObject({
      state: "output-error",
      errorText: expect.stringMatching(
        /was not accepted\. The value at \$\.\S*\.output\.list\[0\]\.__proto__ is under a key/,
      ),
    });
    await chat.sendMessage({ text: "hello" });
    expect(wordsOf((await settled()).at(-1)!)).toBe("Hello there, friend.");
    expect(errors).toEqual([]);
  });
});

it("an answer in a message with results that are not JSON decides nothing", async () => {
  const world = await openWorld();
  const question = asked(await say(world, "where"));
  const part = `{"type":"tool-get_location","toolCallId":"${question.toolCallId}","state":"output-available","output":[1,],"approval":{"id":"${question.approvalId}","approved":true}}`;
  const body = `{"id":"chat-1","messages":[{"id":"${question.messageId}","role":"assistant","parts":[${part}]}]}`;
  const response = await post(world, "/stream", body);
  expect([response.status, await response.json()]).toEqual([400, expect.objectContaining({ code: "malformed" })]);
  expect((await ledger(world)).map(({ state }) => state)).toEqual(["pending"]);
  await answer(world, [{ ...question, approved: true, toolName: "get_location" }]);
  expect((await ledger(world)).map(({ state }) => state)).toEqual(["waiting"]);
});

/** Says yes to the question in the last message, as a person does. */
async function approveLast(
  ai: Ai,
  chat: ReturnType<typeof stockChat>["chat"],
  settled: () => Promise<UIMessage[]>,
): Promise<void> {
  const part = toolParts(ai, (await settled()).at(-1)!).find(({ state }) => state === "approval-requested");
  await chat.addToolApprovalResponse({ id: part!.approval!.id, approved: true });
  await settled();
}
