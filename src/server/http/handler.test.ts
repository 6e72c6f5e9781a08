import { describe, expect, test } from "vitest";
import { type Bridge, silentLogger } from "../../agent/index.ts";
import { createHandler } from "./handler.ts";

/** None of these requests gets as far as the bridge; one that does fails. */
const handle = createHandler({
  bridge: undefined as unknown as Bridge,
  health: () => ({ model: "none" }),
  logger: silentLogger,
});
const ask = async (method: string, path: string) => {
  const response = await handle(new Request(`http://localhost${path}`, { method }));
  return { status: response.status, allow: response.headers.get("allow"), body: (await response.json()) as unknown };
};

describe("the handler", () => {
  test("needs no server around it", async () => {
    expect(await ask("GET", "/health")).toEqual({ status: 200, allow: null, body: { ok: true, model: "none" } });
  });

  test.each(["constructor", "toString", "__proto__", "hasOwnProperty", "get"])(
    "takes %j for no method of its own",
    async (method) => {
      const expected = method === "get" ? 200 : 405;
      expect(await ask(method, "/health")).toMatchObject({ status: expected });
    },
  );

  test("has its routes below any path", async () => {
    expect(await ask("GET", "/api/agent/health")).toMatchObject({ status: 200 });
    expect(await ask("PUT", "/api/agent/stream")).toMatchObject({ status: 405, allow: "POST" });
    // As a chat it has other methods, but as the list of chats below /chats it has GET. The bridge fails.
    expect(await ask("GET", "/chats/chats")).toMatchObject({ status: 500 });
    expect(await ask("POST", "/agent/streams")).toMatchObject({ status: 404 });
  });

  test.each([{ basePath: "/agent" }, { basePath: "/agent/" }])("has its routes only below %j", async (options) => {
    const below = createHandler({ bridge: undefined as unknown as Bridge, logger: silentLogger, ...options });
    const statusOf = async (path: string) => (await below(new Request(`http://localhost${path}`))).status;
    expect(await statusOf("/agent/health")).toBe(200);
    for (const path of ["/health", "/x/agent/health", "/agents/health", "/approvals"])
      expect(await statusOf(path), path).toBe(404);
  });

  test("leaves paths that end like a route to the fallback", async () => {
    const fallback = (request: Request) => new Response(new URL(request.url).pathname);
    const own = createHandler({ bridge: undefined as unknown as Bridge, logger: silentLogger, fallback });
    for (const path of ["/shop/health", "/shop/chats"])
      expect(await (await own(new Request(`http://localhost${path}`))).text()).toBe(path);
  });

  test("tells the client no details of an error", async () => {
    expect(await ask("GET", "/approvals")).toEqual({
      status: 500,
      allow: null,
      body: { code: "internal", message: "Something went wrong on the server. The details are in its log." },
    });
  });
});
