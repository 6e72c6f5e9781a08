/** Chats as their owner has them: listed, renamed, deleted. */
import { FunctionTool, InMemoryArtifactService } from "@google/adk";
import { silentLogger } from "adk-stream-protocol";
import { call, gate, pause, text } from "adk-stream-protocol/testing";
import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { nodeCount } from "../fixtures/nodes.ts";
import { endSockets, openSocket } from "../fixtures/raw-socket.ts";
import { storeKinds } from "../fixtures/store-kinds.ts";
import {
  afterTools,
  answer,
  asked,
  decide,
  get,
  idle,
  ledger,
  messagesOf,
  openSlowWorld,
  openWorld,
  payRules,
  post,
  receive,
  say,
  sequence,
  userMessage,
  type World,
  type WorldOptions,
} from "../fixtures/world.ts";

afterEach(endSockets);

interface ChatPage {
  chats: { id: string; title: string; createdAt: number; updatedAt: number; pending: number }[];
  cursor?: string;
}
const chats = async (world: World, query = "") => (await get(world, `/chats${query}`)).body as ChatPage;
const send = (world: World, method: string, path: string, body?: unknown) =>
  fetch(world.server.url + path, {
    method,
    ...(body !== undefined && { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
  });
const remove = async (world: World, chat = "chat-1") => (await send(world, "DELETE", `/chats/${chat}`)).status;

/** Errors and warnings that were logged. */
function logged() {
  const lines: string[] = [];
  const note = (line: string, fields?: object) => void lines.push(`${line} ${JSON.stringify(fields)}`);
  return { lines, logger: { ...silentLogger, warn: note, error: note } };
}

describe.each(storeKinds)("the list of chats, on $name", ({ options }) => {
  it("has titles, changes and what waits, the newest first, page by page", async () => {
    const world = await openWorld({ rules: payRules, ...options() });
    expect(await chats(world)).toEqual({ chats: [] });
    for (const [index, words] of ["hello  there,\nfriend\u200b", "pay Hanako", "two payments"].entries()) {
      world.clock.now += 10;
      await say(world, words, { chat: `chat-${index}` });
    }
    const list = await chats(world);
    expect(list.cursor).toBeUndefined();
    expect(list.chats.map(({ id, title, pending }) => [id, title, pending])).toEqual([
      ["chat-2", "two payments", 2],
      ["chat-1", "pay Hanako", 1],
      ["chat-0", "hello there, friend", 0],
    ]);
    const first = await chats(world, "?limit=2");
    expect(first.chats).toEqual(list.chats.slice(0, 2));
    expect(await chats(world, `?limit=2&cursor=${first.cursor}`)).toEqual({ chats: list.chats.slice(2) });

    world.clock.now += 10;
    const [question] = await ledger(world, "chat-1");
    await decide(world, question?.id ?? "", false);
    await idle(world, "chat-1");
    expect((await chats(world)).chats[0]).toMatchObject({ id: "chat-1", pending: 0, updatedAt: world.clock.now });
    for (const query of ["?limit=0", "?limit=x", "?cursor=x", "?cursor=W10", `?cursor=${"x".repeat(5000)}`])
      expect(await get(world, `/chats${query}`), query).toMatchObject({ status: 400, body: { code: "invalid" } });
  });

  it("takes another title", async () => {
    const world = await openWorld({ rules: payRules, ...options() });
    await say(world, "hello");
    const rename = async (title: unknown) => {
      const response = await send(world, "PATCH", "/chats/chat-1", { title });
      return { status: response.status, body: (await response.json()) as { title?: string; code?: string } };
    };
    expect(await rename(" Rent\u202e and\nfood ")).toMatchObject({ status: 200, body: { title: "Rent and food" } });
    expect((await chats(world)).chats).toMatchObject([{ id: "chat-1", title: "Rent and food" }]);
    for (const title of ["", " \u200b ", "x".repeat(121), 7, null, undefined])
      expect(await rename(title)).toMatchObject({ status: 400, body: { code: "invalid" } });
    expect((await send(world, "PATCH", "/chats/unknown", { title: "x" })).status).toBe(404);
    await say(world, "more");
    expect((await chats(world)).chats).toMatchObject([{ title: "Rent and food" }]);
  });

  it("belongs to its owner", async () => {
    const authenticate = (request: Request) => request.headers.get("x-user") ?? "alice";
    const world = await openWorld({ rules: payRules, ...options(), server: { authenticate } });
    await say(world, "hello");
    const headers = { "x-user": "bob", "content-type": "application/json" };
    const url = `${world.server.url}/chats`;
    expect(await (await fetch(url, { headers })).json()).toEqual({ chats: [] });
    for (const [method, path] of [
      ["DELETE", ""],
      ["PATCH", ""],
      ["GET", "/export"],
    ] as const) {
      const body = method === "PATCH" ? JSON.stringify({ title: "mine" }) : undefined;
      const [own, unknown] = await Promise.all(
        ["chat-1", "unknown"].map(async (id) => {
          const response = await fetch(`${url}/${id}${path}`, { method, headers, ...(body && { body }) });
          return { status: response.status, text: (await response.text()).replaceAll(id, "ID") };
        }),
      );
      expect(own).toEqual(unknown);
      expect(own?.status).toBe(404);
    }
    expect((await chats(world)).chats).toMatchObject([{ title: "hello" }]);
  });
});

describe("the title of a chat", () => {
  it("follows an edit of the first message, unless it is another title by then", async () => {
    const world = await openWorld({ rules: payRules });
    const write = (chat: string, words: string, id: string) =>
      post(world, "/stream", { id: chat, messages: [userMessage(words, id)] }).then(receive);
    for (const chat of ["plain", "renamed", "later"]) await write(chat, "a secret", `u-${chat}`);
    await write("later", "and more", "u-more");
    await send(world, "PATCH", "/chats/renamed", { title: "mine" });
    for (const chat of ["plain", "renamed"]) await write(chat, "something else", `u-${chat}`);
    await write("later", "something else", "u-more");
    expect(Object.fromEntries((await chats(world)).chats.map(({ id, title }) => [id, title]))).toEqual({
      plain: "something else",
      renamed: "mine",
      later: "a secret",
    });
  });

  it("is what the option makes of the first message", async () => {
    const { lines, logger } = logged();
    const made = gate();
    const title = vi.fn<(message: { id: string }) => Promise<string>>(async ({ id }) => {
      if (id === "bad") throw new Error("no model");
      if (id === "empty") return "\u200b";
      await made.opened;
      return `A title\nfor ${id}`;
    });
    const world = await openWorld({ rules: payRules, bridge: { title, logger } });
    const write = (chat: string, id: string) =>
      post(world, "/stream", { id: chat, messages: [userMessage(`words of ${id}`, id)] }).then(receive);
    for (const id of ["one", "two", "bad", "empty"]) await write(`chat-${id}`, id);
    await write("chat-one", "later");
    const titles = async () =>
      Object.fromEntries((await chats(world)).chats.map((chat) => [chat.id.slice(5), chat.title]));
    expect(await titles()).toEqual(
      Object.fromEntries(["one", "two", "bad", "empty"].map((id) => [id, `words of ${id}`])),
    );
    await send(world, "PATCH", "/chats/chat-two", { title: "renamed" });
    made.open();
    await vi.waitFor(async () => expect((await titles())["one"]).toBe("A title for one"));
    expect(await titles()).toMatchObject({ two: "renamed", bad: "words of bad", empty: "words of empty" });
    expect(title).toHaveBeenCalledTimes(4);
    expect(lines).toHaveLength(2);
  });
});

describe.each(storeKinds)("a chat that is deleted, on $name", ({ options }) => {
  const open = async (more: WorldOptions = {}) => {
    const { lines, logger } = logged();
    const world = await openWorld({ rules: payRules, ...options(), ...more, bridge: { logger, ...more.bridge } });
    return { world, lines };
  };

  it("is as if it had never been, and its id may be used again", async () => {
    const { world, lines } = await open();
    await say(world, "hello");
    const { approvalId } = asked(await say(world, "pay"));
    const before = await world.store.findChat("local", "chat-1", "root_agent");
    expect(await remove(world)).toBe(204);
    expect(await remove(world)).toBe(404);
    expect((await get(world, "/stream/chat-1/messages")).status).toBe(404);
    expect((await get(world, "/chats/chat-1/export")).status).toBe(404);
    expect((await fetch(`${world.server.url}/stream/chat-1/stream`)).status).toBe(204);
    expect(await get(world, "/approvals")).toMatchObject({ body: { approvals: [] } });
    expect(await decide(world, approvalId, true)).toMatchObject({ status: 404, body: { code: "not_found" } });
    expect(await chats(world)).toEqual({ chats: [] });
    expect(await world.store.auditHashes(before?.id ?? "")).toHaveLength(2);
    expect(world.payments).toEqual([]);

    await say(world, "weather");
    expect((await messagesOf(world)).map(({ role }) => role)).toEqual(["user", "assistant"]);
    expect((await chats(world)).chats).toMatchObject([{ id: "chat-1", title: "weather", pending: 0 }]);
    const sent = JSON.stringify(world.gemini.requests.at(-1));
    expect(sent).not.toContain("hello");
    expect(lines).toEqual([]);
  });

  it("stops its turn, and its readers are told, on every wire", async () => {
    const reached = gate();
    const go = gate();
    const { world, lines } = await open({
      rules: [{ when: /slowly/, say: () => (reached.open(), [text("One. "), pause(go.opened), text("Two.")]) }],
    });
    const plain = await openSocket(world);
    const numbered = await openSocket(world, "?sequence=1");
    const stock = await openSocket(world);
    const posted = post(world, "/stream", { id: "chat-1", messages: [userMessage("slowly")] }).then(receive);
    await reached.opened;
    plain.send({ type: "attach", id: "chat-1" });
    numbered.send({ type: "attach", id: "chat-1" });
    stock.send({ type: "resume", id: "chat-1", requestId: "r" });
    const hasWord = ({ body }: { body: string }) => body.includes("One.");
    await Promise.all([plain.until(hasWord), numbered.until(hasWord)]);
    await vi.waitFor(() => expect(stock.frames.join()).toContain("One."));
    const resumed = fetch(`${world.server.url}/stream/chat-1/stream`).then(receive);
    expect(await remove(world)).toBe(204);
    for (const reply of await Promise.all([posted, resumed])) {
      expect(reply.chunks.at(-1)).toEqual({ type: "error", errorText: "This chat was deleted." });
      expect(reply.done).toBe(1);
    }
    const told = await plain.until(({ done }) => done > 0);
    expect(told.chunks.at(-1)).toEqual({ type: "error", errorText: "This chat was deleted." });
    const { controls } = await numbered.until((received) => received.controls.some(({ type }) => type === "deleted"));
    expect(controls.at(-1)).toEqual({ type: "deleted", id: "chat-1" });
    await vi.waitFor(() => expect(stock.frames.join()).toContain("This chat was deleted."));
    go.open();
    expect(lines.filter((line) => !line.includes("A reply ended"))).toEqual([]);
  });

  it("tells sockets that wait in it, and they follow its id when it is used again", async () => {
    const { world } = await open();
    await say(world, "pay");
    const sockets = [await openSocket(world), await openSocket(world, "?sequence=1")] as const;
    for (const socket of sockets) {
      socket.send({ type: "attach", id: "chat-1" });
      await socket.until(({ controls }) => controls.length > 0);
    }
    expect(await remove(world)).toBe(204);
    const [plain, numbered] = sockets;
    expect(sequence(await plain.until(({ done }) => done > 0))).toBe("error [DONE]");
    expect((await numbered.until(({ controls }) => controls.length > 0)).controls).toEqual([
      { type: "deleted", id: "chat-1" },
    ]);
    await say(world, "hello");
    for (const socket of sockets) expect(sequence(await socket.turn())).toBe("start ss text fs finish [DONE]");
  });

  it("takes its artifacts with it, and leaves those of the user and of other chats", async () => {
    const artifactService = new InMemoryArtifactService();
    const { world } = await open({ bridge: { artifactService } });
    const key = async (chat: string) => ({
      ...{ appName: "root_agent", userId: "local" },
      sessionId: (await world.store.findChat("local", chat, "root_agent"))?.id ?? "",
    });
    for (const chat of ["chat-1", "chat-2"]) {
      await say(world, "hello", { chat });
      for (const filename of ["report.txt", "user:photo.png"])
        await artifactService.saveArtifact({ ...(await key(chat)), filename, artifact: { text: "x" } });
    }
    const [one, two] = [await key("chat-1"), await key("chat-2")];
    expect(await remove(world)).toBe(204);
    expect(await artifactService.listArtifactKeys(one)).toEqual(["user:photo.png"]);
    expect(await artifactService.listArtifactKeys(two)).toEqual(["report.txt", "user:photo.png"]);
  });

  it("closes its live connection, also one on which a question waits", async () => {
    const { world, lines } = await open();
    const socket = await openSocket(world, "?sequence=1");
    socket.send({ type: "message", id: "chat-1", messages: [userMessage("pay")] });
    await socket.question();
    const [session] = world.gemini.live.sessions;
    expect(session?.closeCode).toBeUndefined();
    expect(await remove(world)).toBe(204);
    await session?.closed;
    await socket.until(({ controls }) => controls.some(({ type }) => type === "deleted"));
    expect(await world.store.listApprovals({})).toEqual([]);
    socket.send({ type: "message", id: "chat-1", messages: [userMessage("hello")] });
    expect(sequence(await socket.turn())).toBe("start ss text fs finish [DONE]");
    expect(world.gemini.live.sessions).toHaveLength(2);
    expect(lines).toEqual([]);
  });

  it("may be deleted by two at once, and while messages and answers come", async () => {
    const { world, lines } = await open();
    const question = asked(await say(world, "pay"));
    const removing = Promise.all([remove(world), remove(world), remove(world)]);
    const answering = answer(world, [{ ...question, approved: true }]);
    const saying = say(world, "hello");
    const statuses = (await removing).toSorted();
    // A node cannot always tell who has deleted a chat that is gone: it asked another node, whose reply went with the chat.
    if (nodeCount > 1) expect(statuses[0]).toBe(204);
    else expect(statuses).toEqual([204, 404, 404]);
    const [answered, said] = await Promise.all([answering, saying]);
    expect([200, 404]).toContain(answered.status);
    expect([200, 404]).toContain(said.status);
    // Each either came before the deletion, or after it in a new chat.
    for (const chat of (await chats(world)).chats) expect(chat).toMatchObject({ id: "chat-1", title: "hello" });
    expect(world.payments).toEqual([]);
    await idle(world);
    await remove(world);
    expect(await world.store.listChats({ owner: "local", appName: "root_agent" })).toEqual([]);
    expect(lines).toEqual([]);
  });

  it("aborts its tools, and their late outcome is dropped", async () => {
    const { lines, logger } = logged();
    const { world, started, finish } = await openSlowWorld({ ...options(), bridge: { logger } });
    const question = asked(await say(world, "pay"));
    const answering = answer(world, [{ ...question, approved: true }]);
    await started;
    expect(await remove(world)).toBe(204);
    expect((await answering).chunks.at(-1)).toEqual({ type: "error", errorText: "This chat was deleted." });
    finish();
    await world.bridge.close();
    expect(await world.store.listApprovals({})).toEqual([]);
    expect(world.payments).toHaveLength(1);
    expect(lines).toEqual([]);
  });

  it("aborts the signal of a tool, gated or not", async () => {
    const { lines, logger } = logged();
    for (const requireConfirmation of [true, false]) {
      const started = gate();
      const ended = gate();
      const wait = new FunctionTool({
        name: "wait",
        description: "Waits until it is stopped.",
        requireConfirmation,
        parameters: z.object({}),
        execute: async (_, context) => {
          const signal = context?.abortSignal;
          const stopped = new Promise((resolve) => signal?.addEventListener("abort", resolve));
          started.open();
          await stopped;
          ended.open();
          throw new Error("stopped");
        },
      });
      const world = await openWorld({
        ...options(),
        tools: [wait],
        rules: [afterTools, { say: [call("wait")] }],
        bridge: { logger },
      });
      const saying = say(world, "wait");
      if (requireConfirmation) void answer(world, [{ ...asked(await saying), approved: true, toolName: "wait" }]);
      await started.opened;
      expect(await remove(world)).toBe(204);
      await ended.opened;
      await world.bridge.close();
    }
    expect(lines).toEqual([]);
  });
});
