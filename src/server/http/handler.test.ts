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

  test("tells the client no details of an error", async () => {
    expect(await ask("GET", "/approvals")).toEqual({
      status: 500,
      allow: null,
      body: { code: "internal", message: "Something went wrong on the server. The details are in its log." },
    });
  });
});
