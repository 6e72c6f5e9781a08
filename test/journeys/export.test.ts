/** A chat as a file, and back. */
import { type UIMessage, validateUIMessages } from "ai";
import { validateUIMessages as validateUIMessages6 } from "ai-v6";
import { FunctionTool } from "@google/adk";
import { isLargeOutput } from "adk-stream-protocol/protocol";
import { call, inlineData, text } from "adk-stream-protocol/testing";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { endSockets, openSocket } from "../fixtures/raw-socket.ts";
import { storeKinds } from "../fixtures/store-kinds.ts";
import {
  answer,
  asked,
  get,
  ledger,
  messagesOf,
  openWorld,
  payRules,
  post,
  say,
  sequence,
  textOf,
  type World,
  type WorldOptions,
} from "../fixtures/world.ts";

afterEach(endSockets);
const type = "application/x-ndjson";

async function exported(world: World, chat = "chat-1"): Promise<string> {
  const response = await fetch(`${world.server.url}/chats/${chat}/export`);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toContain(type);
  return response.text();
}

async function imported(world: World, body: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${world.server.url}/chats/import`, {
    method: "POST",
    headers: { "content-type": type, ...headers },
    body,
  });
  return { status: response.status, body: (await response.json()) as { id: string; code?: string; message?: string } };
}

const header = { format: "adk-stream-protocol.chat", version: 1 };
const lines = (...values: unknown[]) =>
  values.map((value) => (typeof value === "string" ? value : JSON.stringify(value))).join("\n");
const line = (role: string, ...parts: object[]) => ({
  type: "message",
  message: { id: `m${crypto.randomUUID()}`, role, parts },
});
const words = (value: string) => ({ type: "text", text: value });
const textIn = (parts: UIMessage["parts"]) => parts.map((part) => (part.type === "text" ? part.text : "")).join("");

describe.each(storeKinds)("a chat that is exported and imported, on $name", ({ options }) => {
  const open = (more: WorldOptions = {}) => openWorld({ rules: payRules, ...options(), ...more });

  it("has its words and results again, in a chat of its own that goes on", async () => {
    const world = await open();
    await say(world, "hello");
    await answer(world, [{ ...asked(await say(world, "pay")), approved: true }]);
    await answer(world, [{ ...asked(await say(world, "pay more")), approved: false, reason: "no" }]);
    await say(world, "where");
    const file = await exported(world);
    const [first, ...rest] = file
      .trimEnd()
      .split("\n")
      .map((each) => JSON.parse(each) as Record<string, unknown>);
    expect(first).toMatchObject({ ...header, id: "chat-1", title: "hello" });
    expect(rest.map(({ message }) => message)).toEqual(await messagesOf(world));

    world.clock.now += 1;
    const { status, body } = await imported(world, file);
    expect(status).toBe(200);
    expect(body.id).not.toBe("chat-1");
    const messages = await messagesOf(world, body.id);
    for (const validate of [validateUIMessages, validateUIMessages6] as (typeof validateUIMessages)[])
      await expect(validate({ messages })).resolves.toHaveLength(8);
    const calls = messages.flatMap(({ parts }) => parts.filter((part) => part.type.startsWith("tool-")));
    expect(calls).toMatchObject([
      { state: "output-available", output: { paid: 50 } },
      { state: "output-denied", approval: { approved: false, reason: "no" } },
      { state: "output-denied", approval: { approved: false } },
    ]);
    const questions = (await ledger(world)).filter(({ state }) => state === "pending");
    expect(questions).toHaveLength(1);
    expect(JSON.stringify(messages)).not.toContain(questions[0]?.id);
    expect(messages.at(-1)?.parts.at(-1)).toMatchObject({ type: "data-approval", data: { state: "cancelled" } });
    expect(JSON.stringify(messages)).not.toContain("decidedBy");
    expect(await ledger(world, body.id)).toEqual([]);
    expect((await get(world, "/chats")).body.chats).toMatchObject([{ id: body.id, title: "hello", pending: 0 }, {}]);

    await say(world, "weather", { chat: body.id });
    const asking = JSON.stringify(world.gemini.requests.at(-1));
    for (const known of ["hello", "Hello there, friend.", "paid"]) expect(asking).toContain(known);
    expect(await messagesOf(world, body.id)).toHaveLength(10);
    // Importing what was imported changes nothing any more.
    const again = await imported(world, await exported(world, body.id));
    expect((await messagesOf(world, again.body.id)).map(({ id }) => id)).toEqual(
      (await messagesOf(world, body.id)).map(({ id }) => id),
    );
  });

  it("forgets what an edit withdraws, apart from calls that may have had an effect", async () => {
    const world = await open({ bridge: { tools: { get_weather: { effect: "readonly" } } } });
    await answer(world, [{ ...asked(await say(world, "pay")), approved: true }]);
    await answer(world, [{ ...asked(await say(world, "pay more")), approved: false, reason: "not that one" }]);
    await say(world, "weather");
    const { body } = await imported(world, await exported(world));
    const told = () => JSON.stringify(world.gemini.requests.at(-1)?.contents);
    await say(world, "hello", { chat: body.id });
    for (const known of ["paid", "not that one", "get_weather"]) expect(told()).toContain(known);

    const [first] = await messagesOf(world, body.id);
    const edited = {
      id: body.id,
      trigger: "submit-message",
      messageId: first?.id,
      messages: [{ ...first, parts: [words("hello")] }],
    };
    await (await post(world, "/stream", edited)).text();
    expect(told()).toContain("paid");
    for (const known of ["not that one", "get_weather", "pay more"]) expect(told()).not.toContain(known);
    expect((await messagesOf(world, body.id)).map(({ parts }) => textIn(parts))).toEqual([
      "hello",
      "Hello there, friend.",
    ]);
  });

  it("is shown to a socket that follows it from its beginning", async () => {
    const world = await open();
    await say(world, "hello");
    const { body } = await imported(world, await exported(world));
    const socket = await openSocket(world);
    socket.send({ type: "attach", id: body.id, after: 0 });
    const received = await socket.until(({ chunks }) => textOf({ chunks } as never).includes("friend"));
    expect(sequence(received)).toContain("start ss text fs");
  });

  it("is the new chat of the owner who imports it, whatever the file says", async () => {
    const authenticate = (request: Request) => request.headers.get("x-user") ?? "alice";
    const world = await open({ server: { authenticate } });
    await say(world, "hello");
    const before = await exported(world);
    const file = lines({ ...header, id: "chat-1", owner: "alice", title: "stolen" }, line("user", words("mine")));
    const { body } = await imported(world, file, { "x-user": "bob" });
    expect(await exported(world)).toBe(before);
    expect((await get(world, "/chats")).body.chats).toHaveLength(1);
    expect((await get(world, `/stream/${body.id}/messages`)).status).toBe(404);
  });

  it.each([
    ["nothing", "", /header/],
    ["no header", lines(line("user", words("x"))), /Line 1: .*header/],
    ["another format", lines({ ...header, format: "other" }), /Line 1/],
    ["another version", lines({ ...header, version: 2 }), /Line 1: .*version/],
    ["no JSON", lines(header, "{"), /Line 2/],
    ["a line that is no message", lines(header, { type: "approval" }), /Line 2/],
    ["null", lines(header, "null"), /Line 2/],
    ["another role", lines(header, line("system", words("x"))), /Line 2: .*role/],
    ["no parts", lines(header, { type: "message", message: { id: "a", role: "user" } }), /Line 2: .*parts/],
    ["a text part without text", lines(header, line("user", { type: "text", text: 7 })), /Line 2: .*text/],
    ["the same id twice", lines(header, ...Array(2).fill(line("user", words("x")))), /Line 3: .*twice/],
    ["a key of prototypes", lines(header, `{"type":"message","__proto__":{"a":1}}`), /Line 2/],
    ["a deep value", lines(header, `${"[".repeat(100)}${"]".repeat(100)}`), /Line 2/],
    ["a call without an id", lines(header, line("assistant", { type: "tool-pay", state: "output-error" })), /Line 2/],
  ])("is refused with %s, and leaves nothing", async (_what, file, expected) => {
    const world = await open();
    world.clock.now += 1;
    const { status, body } = await imported(world, file);
    expect(status).toBe(400);
    expect(body.message).toMatch(expected);
    expect((await get(world, "/chats")).body.chats).toEqual([]);
  });

  it("brings nothing but words, results and pictures by value", async () => {
    const world = await open();
    const { body } = await imported(
      world,
      lines(
        { ...header, title: "a\u202eb\nc" },
        line(
          "user",
          words("look"),
          { type: "file", url: "http://169.254.169.254/", mediaType: "text/plain" },
          { type: "file", url: "data:image/png;base64,AAAA", mediaType: "image/png", secret: 1 },
          { type: "tool-pay", toolCallId: "c", state: "output-available", output: {} },
        ),
        line(
          "assistant",
          { type: "data-approval", id: "x", data: { approvalId: "x", state: "succeeded", decidedBy: "boss" } },
          { type: "source-url", sourceId: "s", url: "javascript:alert(1)" },
          { type: "tool-pay", toolCallId: "a", state: "approval-responded", approval: { id: "x", approved: true } },
          { type: "tool-pay", toolCallId: "b", state: "input-available", input: { amount: 5 } },
          { ...words("done"), onclick: "x" },
        ),
        "",
      ),
    );
    const [user, assistant] = (await messagesOf(world, body.id)) as [UIMessage, UIMessage];
    expect(user.parts).toEqual([words("look"), expect.objectContaining({ url: "data:image/png;base64,AAAA" })]);
    expect(JSON.stringify(user)).not.toContain("secret");
    expect(assistant.parts).toMatchObject([{ state: "output-error" }, { state: "output-error" }, words("done")]);
    expect(JSON.stringify(assistant)).not.toMatch(/boss|javascript|onclick|approval/);
    expect((await get(world, "/chats")).body.chats).toMatchObject([{ title: "ab c" }]);
  });

  it("has its files and large outputs again, as far as an import takes them", async () => {
    const png = (bytes: number) => {
      const data = Buffer.alloc(bytes, 7);
      data.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
      return data.toString("base64");
    };
    const [small, large, drawn] = [png(2000), png(300 * 1024), png(400 * 1024)];
    const report = new FunctionTool({
      name: "report",
      description: "Reports.",
      parameters: z.object({}),
      execute: () => ({ text: "x".repeat(300 * 1024), end: "the end of the output" }),
    });
    const world = await open({
      tools: [report],
      rules: [
        { when: ({ responses }) => responses.length > 0, say: [text("Done.")] },
        { when: /draw/, say: [inlineData("image/png", drawn)] },
        { when: /report/, say: [call("report")] },
        { say: [text("I see.")] },
      ],
    });
    const file = (data: string) => ({ type: "file", url: `data:image/png;base64,${data}`, mediaType: "image/png" });
    const look = { id: "u-look", role: "user", parts: [words("look"), file(small), file(large)] };
    await (await post(world, "/stream", { id: "chat-1", messages: [look] })).text();
    await say(world, "draw");
    await say(world, "report");
    const exportedText = await exported(world);
    expect(exportedText).not.toContain("/files/");

    // Another server, which has none of these files.
    const elsewhere = await open();
    const { status, body } = await imported(elsewhere, exportedText);
    expect(status).toBe(200);
    const messages = await messagesOf(elsewhere, body.id);
    const urls = messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "file" ? part.url : [])));
    const contents = await Promise.all(
      urls.map(async (url) => {
        const response = await fetch(url.startsWith("data:") ? url : elsewhere.server.url + url);
        return Buffer.from(await response.arrayBuffer()).toString("base64");
      }),
    );
    expect(urls.map((url) => url.startsWith("data:"))).toEqual([true, false, false]);
    expect(contents.map((content) => [small, large, drawn].indexOf(content))).toEqual([0, 1, 2]);
    const [output] = messages.flatMap(({ parts }) => parts.flatMap((part) => ("output" in part ? part.output : [])));
    if (!isLargeOutput(output)) throw new Error("The output has no preview.");
    expect((await get(elsewhere, output.url)).body).toMatchObject({ end: "the end of the output" });
    // The model gets the pictures of the user.
    await say(elsewhere, "hello", { chat: body.id });
    const asking = JSON.stringify(elsewhere.gemini.requests.at(-1)?.contents);
    expect([asking.includes(small), asking.includes(large)]).toEqual([true, true]);
    expect(await exported(elsewhere, body.id)).not.toContain("/files/");
  });

  it("comes back with a large output that no client could send", async () => {
    let deep: unknown = "the innermost";
    for (let level = 0; level < 100; level += 1) deep = [deep];
    const long = "x".repeat(300 * 1024);
    const find = new FunctionTool({
      name: "find",
      description: "Finds.",
      execute: async () => ({ constructor: "a builder", deep, half: "\ud83d", long }),
    });
    const rules = [
      { when: ({ responses }: { responses: readonly unknown[] }) => responses.length > 0, say: [text("Done.")] },
      { say: [call("find")] },
    ];
    const world = await open({ tools: [find], rules });
    await say(world, "find");
    const { status, body } = await imported(world, await exported(world));
    expect(status).toBe(200);
    const messages = await messagesOf(world, body.id);
    const [output] = messages.flatMap(({ parts }) => parts.flatMap((part) => ("output" in part ? part.output : [])));
    if (!isLargeOutput(output)) throw new Error("The output has no preview.");
    expect((await get(world, output.url)).body).toMatchObject({ _constructor: "a builder", long });
  });

  it("leaves out files that may not be sent here, and its model gets no empty message", async () => {
    const world = await open();
    const file = (url: string, mediaType: string) => ({ type: "file", url, mediaType });
    const { body } = await imported(
      world,
      lines(
        header,
        line("user", words("look"), file("data:text/html;base64,PGI+", "text/html")),
        line("user", file("data:image/png;base64,@", "image/png"), file("data:image/png;base64,AAAA", "image/png")),
        line("user", file(`/files/${"a".repeat(32)}`, "image/png")),
        line("user", words("")),
        line("assistant", words("I see.")),
      ),
    );
    const kinds = (await messagesOf(world, body.id)).map(({ parts }) => parts.map((part) => part.type));
    expect(kinds).toEqual([["text"], ["file"], ["text"], ["text"], ["text"]]);
    await say(world, "hello", { chat: body.id });
    const told = world.gemini.requests
      .at(-1)!
      .contents.map(({ parts = [] }) => parts.map((part) => part.text ?? part.inlineData?.mimeType));
    const notice = "[a file that was not imported]";
    expect(told).toEqual([["look"], ["image/png"], [notice], ["I see."], ["hello"]]);
  });

  it("needs its content type, and has a limit", async () => {
    const world = await open();
    const json = await imported(world, lines(header), { "content-type": "application/json" });
    expect(json).toMatchObject({ status: 415, body: { code: "unsupported_media_type" } });
    const large = line("user", words("x".repeat(17 * 1024 * 1024)));
    expect(await imported(world, lines(header, large))).toMatchObject({ status: 413, body: { code: "too_large" } });
    expect((await get(world, "/chats")).body.chats).toEqual([]);
  });
});

it("a chat with more files than an import takes is imported with those that have room, and with all its words", async () => {
  const world = await openWorld();
  await say(world, "hello");
  const { store } = world;
  const chat = (await store.findChat("local", "chat-1", "root_agent"))?.id ?? "";
  // The node that replied gives the chat back a moment later.
  await expect.poll(() => store.holdChat(chat, 60_000)).toMatchObject({ node: store.node });
  let saved = 0;
  const add = async (...parts: object[]) => {
    const turn = crypto.randomUUID();
    const message = { id: `u-${turn}`, role: "user", parts } as UIMessage;
    await store.append(chat, [
      { turn, kind: "begin", reply: `r-${turn}`, message },
      { turn, kind: "end" },
    ]);
  };
  /** Small files travel by value, large ones by address. */
  const picture = async (bytes: number, content = "") => {
    const id = String((saved += 1)).padStart(32, "0");
    const data = Buffer.alloc(bytes);
    data.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
    await store.saveFile({ chat, id, mediaType: "image/png", data });
    return { type: "file", mediaType: "image/png", url: `/files/${id}${content}` };
  };
  for (let count = 0; count < 50; count += 1) await add(await picture(250_000, "#data:image/png;base64,"));
  for (let count = 0; count < 3; count += 1) await add(await picture(4_000_000));
  for (let count = 0; count < 3; count += 1) await add(words("x".repeat(3_000_000)));
  await store.releaseChats([chat]);
  const { status, body } = await imported(world, await exported(world));
  expect([status, body.message]).toEqual([200, undefined]);
  const users = (await messagesOf(world, body.id)).filter(({ role }) => role === "user");
  expect(users.at(-1)?.parts).toEqual([words("x".repeat(3_000_000))]);
});

describe.each(storeKinds)("the list of approvals, on $name", ({ options }) => {
  it("has the chat of each row, pages, and no large outputs", async () => {
    const world = await openWorld({ rules: payRules, ...options() });
    for (const chat of ["one", "two", "three"]) await say(world, "two payments", { chat });
    const page = async (query: string) =>
      (await get(world, `/approvals${query}`)).body as {
        approvals: { id: string; chat: string; state: string; outputSize?: number; output?: unknown }[];
        cursor?: string;
      };
    const all = await page("");
    expect(all.cursor).toBeUndefined();
    expect(all.approvals.map(({ chat }) => chat)).toEqual(["one", "one", "two", "two", "three", "three"]);
    const first = await page("?limit=4");
    const second = await page(`?limit=4&cursor=${first.cursor}`);
    expect([...first.approvals, ...second.approvals]).toEqual(all.approvals);
    expect(second.cursor).toBeUndefined();
    expect((await page("?limit=6")).cursor).toBeUndefined();
    for (const limit of [1, 2, 5]) {
      const rows: unknown[] = [];
      for (let query: string | undefined = `?limit=${limit}`; query !== undefined;) {
        const { approvals, cursor } = await page(query);
        rows.push(...approvals);
        query = cursor === undefined ? undefined : `?limit=${limit}&cursor=${cursor}`;
      }
      expect(rows).toEqual(all.approvals);
    }
    expect((await page("?chat=two&limit=1")).approvals).toEqual(all.approvals.slice(2, 3));
    expect((await page("?state=denied")).approvals).toEqual([]);
    for (const query of ["?limit=0", "?cursor=!", "?cursor=WyJhIl0"])
      expect((await get(world, `/approvals${query}`)).status, query).toBe(400);

    const [small, large] = all.approvals as [(typeof all.approvals)[0], (typeof all.approvals)[0]];
    for (const [{ id }, outcome] of [
      [small, { ok: true }],
      [large, { text: "x".repeat(20_000) }],
    ] as const) {
      await world.store.move(id, { event: "approve", by: "local" });
      await world.store.move(id, { event: "claim", leaseOwner: "w", leaseMs: 1000 });
      await world.store.move(id, { event: "succeed", outcome, fence: 1 });
    }
    const [one, two] = (await page("?state=succeeded")).approvals;
    expect(one).toMatchObject({ state: "succeeded", output: { ok: true } });
    expect(one).not.toHaveProperty("outputSize");
    expect(two).toMatchObject({ state: "succeeded", outputSize: 20_011 });
    expect(two).not.toHaveProperty("output");
  });
});
