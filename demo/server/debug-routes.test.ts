import { memoryStore } from "adk-stream-protocol/stores/memory";
import { beforeEach, describe, expect, test } from "vitest";
import { createDebugRoutes, type DebugRoutes } from "./debug-routes.ts";

let routes: DebugRoutes;
let acts: string[];

beforeEach(async () => {
  acts = [];
  const store = memoryStore();
  const chat = await store.openChat({ owner: "ann", name: "chat 1", appName: "demo" });
  await store.append(chat.id, [
    { turn: "t", kind: "begin", reply: "m" },
    ...Array.from({ length: 600 }, (_, index) => ({
      turn: "t",
      kind: "chunk" as const,
      chunk: { type: "text-delta" as const, id: "1", delta: String(index) },
    })),
    { turn: "t", kind: "end" },
  ]);
  await store.appendEvent(chat.id, { event: { id: "e1", author: "user" }, id: "e1", responses: [] });
  const record = { of: (session: string) => (session === chat.id ? [{ at: 1 } as never] : []) };
  routes = createDebugRoutes({
    ...{ store, appName: "demo", processName: "p1" },
    record,
    now: () => 7,
    cut: () => acts.push("cut"),
    restart: () => acts.push("restart"),
  });
});

const ask = (path: string, init: RequestInit & { owner?: string } = {}) => {
  const headers = { host: "127.0.0.1:3000", ...(init.headers as Record<string, string> | undefined) };
  return routes(new Request(`http://127.0.0.1:3000${path}`, { ...init, headers }), init.owner ?? "ann");
};
const linesOf = async (response: Response | undefined) =>
  ((await response?.text()) ?? "")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe("the log", () => {
  test("is sent as JSON lines after a head", async () => {
    const lines = await linesOf(await ask("/debug/chats/chat%201/log"));
    expect(lines[0]).toEqual({ format: "adk-stream-protocol/log", version: 1, chat: "chat 1", savedAt: 7 });
    expect(lines).toHaveLength(603);
    expect(lines[1]).toMatchObject({ kind: "begin", sequence: 1 });
    expect(lines.at(-1)).toMatchObject({ kind: "end", sequence: 602 });
  });

  test("may be only its end", async () => {
    const lines = await linesOf(await ask("/debug/chats/chat%201/log?last=2"));
    expect(lines.slice(1).map(({ sequence }) => sequence)).toEqual([601, 602]);
    for (const last of ["99999", "x", "-1", ""])
      expect(await linesOf(await ask(`/debug/chats/chat%201/log?last=${last}`))).toHaveLength(603);
  });

  test.each(["/debug/chats/chat%201/log", "/debug/chats/chat%201/model"])(
    "of another owner does not exist: %s",
    async (path) => {
      const foreign = await ask(path, { owner: "eve" });
      const missing = await ask(path.replace("%201", "2"));
      expect([foreign?.status, await foreign?.text()]).toEqual([missing?.status, await missing?.text()]);
      expect(missing?.status).toBe(404);
    },
  );

  test("a path that cannot be decoded is no chat", async () => {
    expect((await ask("/debug/chats/%ff/log"))?.status).toBe(404);
  });
});

test("the model's side has the recorded requests and the events of the session", async () => {
  expect(await (await ask("/debug/chats/chat%201/model"))?.json()).toMatchObject({
    requests: [{ at: 1 }],
    events: [{ author: "user" }],
  });
});

describe("what disturbs the server", () => {
  const own = { origin: "http://127.0.0.1:3000" };

  test.each(["cut", "restart"])("%s is done for the server's own page", async (name) => {
    expect((await ask(`/debug/${name}`, { method: "POST", headers: own }))?.status).toBe(202);
    expect(acts).toEqual([name]);
  });

  test.each<Record<string, string>>([
    {},
    { origin: "https://app.example" },
    { origin: "null" },
    { origin: "http://127.0.0.1:3001" },
  ])("is refused for %j", async (headers) => {
    expect((await ask("/debug/restart", { method: "POST", headers }))?.status).toBe(403);
    expect(acts).toEqual([]);
  });

  test("is not done by a link", async () => {
    expect((await ask("/debug/restart", { headers: own }))?.status).toBe(405);
    expect(acts).toEqual([]);
  });
});

test.each(["/debug", "/debug/", "/debug/chats", "/wallet", "/debug/__proto__", "/debug/constructor"])(
  "%s is not here",
  async (path) => {
    expect(await ask(path, { method: "POST" })).toBeUndefined();
  },
);
