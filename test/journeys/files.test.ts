/** Files of users and models, and outputs that are too large: what clients get, what is stored, what the model gets. */
import { FunctionTool } from "@google/adk";
import type { FileUIPart, UIMessage } from "ai";
import { call, inlineData, type Rule, text } from "adk-stream-protocol/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { openLiveStage } from "../fixtures/live-stage.ts";
import { storeKinds } from "../fixtures/store-kinds.ts";
import { majors, stockChat, toolParts, wordsOf } from "../fixtures/stock-chat.ts";
import {
  afterTools,
  demoTools,
  get,
  idle,
  openWorld,
  payRules,
  post,
  receive,
  userMessage,
  type World,
} from "../fixtures/world.ts";

const picture = (size: number) =>
  Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), Buffer.alloc(size, 7)]).toString("base64");
const small = picture(5000);
const large = picture(300 * 1024);
const urlOf = (data: string) => `data:image/png;base64,${data}`;
const fileOf = (data: string): FileUIPart => ({
  type: "file",
  mediaType: "image/png",
  url: urlOf(data),
  filename: "a.png",
});
const withFiles = (words: string, ...parts: UIMessage["parts"]): UIMessage => {
  const message = userMessage(words);
  return { ...message, parts: [...message.parts, ...parts] };
};
const address = /^\/files\/[0-9a-f]{32}$/;

async function send(world: World, message: UIMessage, headers: Record<string, string> = {}) {
  const reply = await post(world, "/stream", { id: "chat-1", messages: [message], trigger: "submit-message" }, headers);
  return receive(reply);
}

const messagesOf = async (world: World): Promise<UIMessage[]> =>
  (await get(world, "/stream/chat-1/messages")).body.messages as UIMessage[];
const filesIn = (messages: readonly UIMessage[]) =>
  messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "file" ? [part.url] : [])));
/** The pictures in what the model was sent, by name. */
const shownToModel = (contents: unknown): string[] =>
  [...JSON.stringify(contents).matchAll(/"inlineData":\{[^}]*"data":"([^"]*)"/g)].map(([, data = ""]) =>
    data === small ? "small" : data === large ? "large" : `${data.length} characters`,
  );
/** Everything that a chat has in the store besides its files. */
async function storedText(world: Pick<World, "store">): Promise<string> {
  const chat = await world.store.findChat("local", "chat-1", "root_agent");
  const id = chat?.id ?? "";
  const parts = [
    world.store.read(id),
    world.store.messages(id),
    world.store.events(id),
    world.store.listApprovals({ chat: id }),
  ];
  return JSON.stringify(await Promise.all(parts));
}

const hello: readonly Rule[] = [{ say: [text("Nice.")] }];

describe.each(storeKinds)("a user's pictures, on $name", ({ options }) => {
  it("reach the model in every turn, come back to the client, and are stored once", async () => {
    const world = await openWorld({ rules: hello, ...options() });
    const reply = await send(world, withFiles("Look.", fileOf(small), fileOf(large)));
    expect(reply.chunks.at(-1)?.type).toBe("finish");
    await send(world, userMessage("And?"));
    expect(world.gemini.requests.map(({ contents }) => shownToModel(contents))).toEqual([
      ["small", "large"],
      ["small", "large"],
    ]);
    expect(filesIn(await messagesOf(world))).toEqual([urlOf(small), expect.stringMatching(address)]);
    const stored = await storedText(world);
    expect(stored.includes(small.slice(0, 2000))).toBe(false);
    expect(stored.includes(large.slice(0, 2000))).toBe(false);

    await world.crash();
    await send(world, userMessage("And now?"));
    expect(shownToModel(world.gemini.requests.at(-1)?.contents)).toEqual(["small", "large"]);
    expect(filesIn(await messagesOf(world))).toHaveLength(2);
  });

  it("can be sent again by the address they got", async () => {
    const world = await openWorld({ rules: hello, ...options() });
    await send(world, withFiles("Look.", fileOf(large)));
    const [url = ""] = filesIn(await messagesOf(world));
    await send(world, withFiles("Again.", { type: "file", mediaType: "image/png", url }));
    expect(shownToModel(world.gemini.requests.at(-1)?.contents)).toEqual(["large", "large"]);
    await send(world, {
      ...userMessage("Third."),
      parts: [
        { type: "text", text: "Once more." },
        { ...fileOf(large), url },
      ],
    });
    expect(filesIn(await messagesOf(world))).toEqual([url, url, url]);
  });

  it("are the same message when they are sent again after a failure", async () => {
    let failures = 1;
    const world = await openWorld({
      rules: [{ when: () => failures-- > 0, say: [{ kind: "fail", code: 500, message: "down" }] }, ...hello],
      ...options(),
    });
    const message = withFiles("Look.", fileOf(small), fileOf(large));
    expect((await send(world, message)).chunks.some(({ type }) => type === "error")).toBe(true);
    await send(world, message);
    expect(shownToModel(world.gemini.requests.at(-1)?.contents)).toEqual(["small", "large"]);
  });

  it("are stored once when the process dies between a file and its message", async () => {
    for (const operation of ["saveFile", "append", "appendEvent"] as const) {
      const world = await openWorld({ rules: hello, ...options() });
      const message = withFiles("Look.", fileOf(large));
      world.dieAt((moment) => moment.operation === operation && moment.when === "after");
      await send(world, message).catch(() => undefined);
      await world.crash();
      expect((await send(world, message)).chunks.at(-1)?.type, operation).toBe("finish");
      expect(shownToModel(world.gemini.requests.at(-1)?.contents), operation).toEqual(["large"]);
      expect(filesIn(await messagesOf(world)), operation).toEqual([expect.stringMatching(address)]);
    }
  });

  it("go with their chat", async () => {
    const world = await openWorld({ rules: hello, ...options() });
    await send(world, withFiles("Look.", fileOf(large)));
    const [url = ""] = filesIn(await messagesOf(world));
    await idle(world);
    const chat = await world.store.findChat("local", "chat-1", "root_agent");
    await world.store.deleteSession(chat?.id ?? "");
    expect((await fetch(world.server.url + url)).status).toBe(404);
  });
});

describe.each(storeKinds)("a model's pictures, on $name", ({ options }) => {
  it.each(["by request", "live"])("are shown and stored once, %s", async (mode) => {
    const live = mode === "live";
    const stage = await openLiveStage({
      ...options(),
      rules: [
        { when: /draw/, say: [text("Here."), inlineData("image/png", small), inlineData("image/png", large)] },
        { say: [text("Yes.")] },
      ],
    });
    const reply = await stage.say("draw", { live });
    const shown = reply.chunks.flatMap((chunk) => (chunk.type === "file" ? [chunk.url] : []));
    expect(shown).toEqual([urlOf(small), expect.stringMatching(address)]);
    await stage.restart();
    expect(filesIn(await stage.messages())).toEqual(shown);
    await stage.say("Nice?", { live });
    const sent = live ? stage.gemini.live.sessions.at(-1)?.messages : stage.gemini.requests.at(-1)?.contents;
    // ADK stores no pictures of a live model in the model's history.
    expect(shownToModel(sent)).toEqual(live ? [] : ["small", "large"]);
    const stored = await storedText(stage);
    expect(stored.includes(small.slice(0, 2000))).toBe(false);
    expect(stored.includes(large.slice(0, 2000))).toBe(false);
  });
});

it("a picture reaches a live model, also one that takes text as realtime input", async () => {
  for (const model of ["gemini-2.5-flash", "gemini-3.1-flash-live-preview"]) {
    const stage = await openLiveStage({ rules: hello, model });
    for (const parts of [[fileOf(large)], []]) {
      const message = withFiles("Look.", ...parts);
      const reply = await stage.submit({ type: "message", message });
      expect(reply.chunks.at(-1)?.type).toBe("finish");
    }
    await stage.submit({ type: "message", message: { ...userMessage(""), parts: [fileOf(small)] } });
    expect(shownToModel(stage.gemini.live.sessions.map(({ messages }) => messages))).toEqual(["large", "small"]);
  }
});

it.each([
  ["ai@6", "SSE"],
  ["ai@7", "SSE"],
  ["ai@6", "chat wire"],
  ["ai@7", "chat wire"],
  ["ai@7", "AI SDK wire"],
] as const)("X23: a stock chat sends a picture, and not an address, %s over %s", async (major, wire) => {
  const ai = majors.find(([name]) => name === major)?.[1] ?? majors[1][1];
  const world = await openWorld({ rules: hello });
  const { chat, settled, errors } = stockChat(ai, world, { wire });
  await chat.sendMessage({ text: "Look.", files: [fileOf(small)] });
  expect(wordsOf((await settled()).at(-1) ?? userMessage(""))).toBe("Nice.");
  const sent = () => [
    world.gemini.requests.map(({ contents }) => contents),
    world.gemini.live.sessions.map(({ messages }) => messages),
  ];
  expect(new Set(shownToModel(sent()))).toEqual(new Set(["small"]));
  expect(errors).toEqual([]);
  const url = "http://169.254.169.254/computeMetadata/v1/";
  await chat.sendMessage({ text: "And this.", files: [{ type: "file", mediaType: "image/png", url }] });
  await settled();
  expect(errors.map(({ message }) => message).join()).toContain("is not allowed");
  expect(JSON.stringify(sent())).not.toContain("computeMetadata");
  expect(filesIn(await messagesOf(world))).toEqual([urlOf(small)]);
});

describe("a file's address", () => {
  const authenticate = (request: Request) => request.headers.get("x-user") ?? undefined;
  const as = (user: string) => ({ headers: { "x-user": user } });

  async function openFile(part: FileUIPart) {
    const world = await openWorld({
      rules: hello,
      server: { authenticate },
      bridge: { files: { inlineBytes: 0, types: ["image/*", "text/*"] } },
    });
    await send(world, withFiles("Look.", part), { "x-user": "alice" });
    const page = await fetch(`${world.server.url}/stream/chat-1/messages`, as("alice"));
    const [path = ""] = filesIn(((await page.json()) as { messages: UIMessage[] }).messages);
    return { world, path, url: world.server.url + path };
  }

  it("gives the file to its owner only", async () => {
    const { world, path, url } = await openFile(fileOf(small));
    const response = await fetch(url, as("alice"));
    expect(Buffer.from(await response.arrayBuffer()).toString("base64")).toBe(small);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "image/png",
      "content-disposition": "inline; filename*=UTF-8''a.png",
      "content-security-policy": "sandbox; default-src 'none'",
      "x-content-type-options": "nosniff",
      "cache-control": "private, max-age=86400, immutable",
    });
    const other = await fetch(url, as("mallory"));
    const missing = await fetch(`${world.server.url}/files/${"0".repeat(32)}`, as("mallory"));
    expect([other.status, missing.status]).toEqual([404, 404]);
    expect((await other.text()).replace(path.slice(7), "")).toBe((await missing.text()).replace("0".repeat(32), ""));
    expect((await fetch(url)).status).toBe(401);
    expect((await fetch(url, { method: "DELETE", headers: { "x-user": "alice" } })).status).toBe(405);
  });

  it.each([
    ["image/svg+xml", "<svg onload='alert(1)'/>"],
    ["text/html", "<script>alert(1)</script>"],
    ["text/xml", "<a/>"],
  ])("downloads %s, which could run", async (mediaType, content) => {
    const data = Buffer.from(content + " ".repeat(1100)).toString("base64");
    const filename = "a\r\nx-evil: 1'\u{1F600}\uD800.html";
    const { url } = await openFile({ type: "file", mediaType, url: `data:${mediaType};base64,${data}`, filename });
    const { headers } = await fetch(url, as("alice"));
    expect(headers.get("content-type")).toBe("application/octet-stream");
    expect(headers.get("content-disposition")).toBe(
      "attachment; filename*=UTF-8''a%0D%0Ax-evil%3A%201%27%F0%9F%98%80%EF%BF%BD.html",
    );
    expect(headers.get("x-evil")).toBeNull();
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  });
});

describe("an address that is not allowed", () => {
  it("X23: is refused over SSE with a sentence, and makes no chat", async () => {
    const world = await openWorld({ rules: hello });
    const part = { type: "file", mediaType: "application/pdf", url: "gs://bucket/secret.pdf" } as const;
    const { status, body } = await send(world, withFiles("Look.", part));
    expect(status).toBe(400);
    expect(JSON.parse(body)).toEqual({
      code: "invalid",
      message: expect.stringContaining('The address "gs://bucket/secret.pdf" of a file is not allowed.'),
    });
    expect(world.gemini.requests).toEqual([]);
    expect((await get(world, "/stream/chat-1/messages")).status).toBe(404);
  });
});

// ── large outputs ────────────────────────────────────────────────────────────────────────────────────────────────────

const report = { lines: "x".repeat(300 * 1024), total: 7 };
const whole = JSON.stringify(report);
const preview = { preview: whole.slice(0, 4096), size: whole.length, url: expect.stringMatching(address) };

const reportTool = (gated: boolean) =>
  new FunctionTool({
    name: "make_report",
    description: "Makes a report.",
    requireConfirmation: gated,
    parameters: z.object({}),
    execute: () => report,
  });
const reportRules: readonly Rule[] = [
  { when: ({ responses }) => responses.length > 0, say: [text("Done.")] },
  { when: /report/, say: [call("make_report")] },
  { say: [text("Hello.")] },
];

describe.each(storeKinds)("a large output, on $name", ({ options }) => {
  describe.each(["by request", "live"])("%s", (mode) => {
    const live = mode === "live";
    it.each(["free", "gated"])("of a %s tool travels as a preview, and the model gets the whole", async (kind) => {
      const stage = await openLiveStage({ ...options(), rules: reportRules, tools: [reportTool(kind === "gated")] });
      let reply = await stage.say("report", { live });
      const [question] = await stage.pending();
      if (kind === "gated") reply = await stage.answer([{ id: question?.id ?? "", approved: true }], { live });
      await stage.untilIdle();
      const outputs = reply.chunks.flatMap((chunk) => (chunk.type === "tool-output-available" ? [chunk.output] : []));
      expect(outputs).toEqual([preview]);
      expect(JSON.stringify(reply.chunks).includes("x".repeat(5000))).toBe(false);
      await stage.restart();
      const messages = await stage.messages();
      expect(messages.at(-1)?.parts).toContainEqual(
        expect.objectContaining({ state: "output-available", output: preview }),
      );
      const { approvals } = await stage.bridge.approvals("local", { chat: "chat-1" });
      expect(approvals.map(({ output }) => output)).toEqual(kind === "gated" ? [preview] : []);
      expect((await storedText(stage)).includes("x".repeat(5000))).toBe(false);

      const sent = () =>
        live
          ? JSON.stringify(stage.gemini.live.sessions.map((session) => session.messages))
          : JSON.stringify(stage.gemini.requests.map(({ contents }) => contents));
      expect(sent().includes(report.lines)).toBe(true);
      stage.gemini.reset();
      await stage.say("Hello again.", { live });
      expect(sent().includes(report.lines)).toBe(true);

      const file = await stage.bridge.file("local", (outputs[0] as { url: string }).url.slice(7));
      expect(file?.mediaType).toBe("application/json");
      expect(Buffer.from(file?.data ?? []).toString()).toBe(whole);
      expect(await stage.bridge.file("mallory", file?.id ?? "")).toBeUndefined();
    });
  });

  it("of a call that was answered on another connection is in the note to the model", async () => {
    const stage = await openLiveStage({ ...options(), rules: reportRules, tools: [reportTool(true)] });
    await stage.say("report");
    const [question] = await stage.pending();
    await stage.restart();
    stage.gemini.reset();
    await stage.answer([{ id: question?.id ?? "", approved: true }]);
    await stage.untilIdle();
    expect(stage.textToModel().some((said) => said.includes(report.lines))).toBe(true);
  });

  it("of a tool with a time limit reaches the model whole", async () => {
    const bridge = { tools: { make_report: { timeoutMs: 5000 } } };
    const stage = await openLiveStage({ ...options(), rules: reportRules, tools: [reportTool(false)], bridge });
    const reply = await stage.say("report", { live: false });
    expect(reply.chunks.find((chunk) => chunk.type === "tool-output-available")?.output).toEqual(preview);
    expect(JSON.stringify(stage.gemini.requests.at(-1)?.contents).includes(report.lines)).toBe(true);
    expect(await stage.rows()).toMatchObject([{ outcome: preview }]);
  });

  it("that is reported twice is the same report", async () => {
    const world = await openWorld({
      rules: [afterTools, { when: /where/, say: [call("get_location")] }, ...hello],
      ...options(),
    });
    await receive(await post(world, "/stream", { id: "chat-1", messages: [userMessage("where")] }));
    const { approvals } = (await get(world, "/approvals")).body as { approvals: { id: string }[] };
    const id = approvals[0]?.id ?? "";
    await post(world, `/approvals/${id}`, { approved: true });
    await idle(world);
    const settle = (result: unknown) => post(world, `/calls/${id}`, { result });
    expect((await settle(report)).status).toBe(200);
    await idle(world);
    const again = await settle(report);
    expect(again.status).toBe(200);
    expect(await again.json()).toMatchObject({ state: "succeeded", approval: { output: preview } });
    expect((await settle({ ...report, total: 8 })).status).toBe(409);
    const [row] = ((await get(world, "/approvals")).body as { approvals: { output: { url: string } }[] }).approvals;
    const response = await fetch(world.server.url + (row?.output.url ?? ""));
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toEqual(report);
  });

  it("is a preview from the size that the option sets", async () => {
    const tool = new FunctionTool({
      name: "make_report",
      description: "",
      parameters: z.object({}),
      execute: () => ({ words: "é".repeat(40) }),
    });
    const stage = await openLiveStage({
      ...options(),
      rules: reportRules,
      tools: [tool],
      bridge: { largeOutputBytes: 91 },
    });
    const output = async () =>
      (await stage.say("report", { live: false })).chunks.find((chunk) => chunk.type === "tool-output-available");
    expect(await output()).toMatchObject({ output: { size: 92, preview: expect.stringContaining("é") } });
  });
});

it.each(majors)("X5: a stock yes arrives after five outputs of a megabyte, %s", async (_, ai) => {
  const tool = new FunctionTool({
    name: "make_report",
    description: "",
    parameters: z.object({}),
    execute: () => ({ lines: "x".repeat(1024 * 1024) }),
  });
  const payments: World["payments"] = [];
  const world = await openWorld({
    rules: [...reportRules.slice(0, 2), ...payRules],
    tools: [tool, ...demoTools(payments)],
  });
  const { chat, settled, errors } = stockChat(ai, world);
  for (let turn = 0; turn < 5; turn += 1) await chat.sendMessage({ text: "report" });
  await chat.sendMessage({ text: "pay" });
  const [part] = toolParts(ai, (await settled()).at(-1) ?? { id: "", role: "assistant", parts: [] });
  await chat.addToolApprovalResponse({ id: part?.approval?.id ?? "", approved: true });
  await settled();
  expect(errors).toEqual([]);
  expect(payments).toHaveLength(1);
});

it("a long error of a tool is cut in what clients get", async () => {
  for (const gated of [false, true]) {
    const tool = new FunctionTool({
      name: "make_report",
      description: "",
      requireConfirmation: gated,
      parameters: z.object({}),
      execute: () => {
        throw new Error("e".repeat(400_000));
      },
    });
    const stage = await openLiveStage({ rules: reportRules, tools: [tool] });
    let reply = await stage.say("report", { live: false });
    const [question] = await stage.pending();
    if (question) reply = await stage.answer([{ id: question.id, approved: true }], { live: false });
    const failed = reply.chunks.find((chunk) => chunk.type === "tool-output-error");
    expect(failed?.errorText).toMatch(/e{16000,}… \(\d+ characters in all\)$/);
    expect(JSON.stringify(reply.chunks).length).toBeLessThan(100_000);
  }
});
