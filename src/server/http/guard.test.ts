import { describe, expect, test } from "vitest";
import { silentLogger } from "../../agent/index.ts";
import { guard, type GuardOptions } from "./guard.ts";

const own = "127.0.0.1:3000";

/** The owner, or the code of the refusal. */
async function ask(headers: Record<string, string>, options: GuardOptions = {}, method = "POST"): Promise<string> {
  const request = new Request("http://127.0.0.1:3000/stream", { method, headers: { host: own, ...headers } });
  return guard(request, { logger: silentLogger, ...options }).then(
    ({ owner }) => owner,
    (error: { code: string }) => error.code,
  );
}

const alice: GuardOptions = { authenticate: () => ({ owner: "alice" }) };

describe("without authentication", () => {
  test.each(["127.0.0.1", own, "127.8.9.10:1", "localhost", "localhost:3000", "[::1]", "[::1]:3000"])(
    "%s is this machine",
    async (host) => {
      expect(await ask({ host })).toBe("local");
      expect(await ask({ host }, {}, "GET")).toBe("local");
    },
  );

  test.each([
    "example.com",
    "example.com:3000",
    "127.0.0.1.example.com",
    "localhost.example.com",
    "127.0.0.1@example.com",
    "127.0.0.1:x",
    "1270.0.0.1",
    "127.0.0",
    "0.0.0.0",
    "192.168.0.1",
    "[::]",
    "[::1",
    "::1",
    "",
    "localhost\n",
  ])("%j is another (DNS rebinding)", async (host) => {
    const request = {
      method: "GET",
      url: "http://127.0.0.1/",
      headers: { get: (name: string) => (name === "host" ? host : null), has: () => false },
    };
    await expect(guard(request as unknown as Request, {})).rejects.toMatchObject({ code: "forbidden" });
  });

  test("a request that names no host is known by its address", async () => {
    expect(await guard(new Request("http://localhost:3000/health"), {})).toMatchObject({ owner: "local" });
    await expect(guard(new Request("http://example.com/health"), {})).rejects.toMatchObject({ code: "forbidden" });
  });
});

describe("the origin", () => {
  const foreign = [
    "https://example.com",
    "null",
    "",
    `http://${own}/`,
    `http://${own}.example.com`,
    "http://127.0.0.1:3001",
    "http://localhost:3000",
    "http://127.0.0.1",
  ];

  test.each(foreign)("%j may not change anything, with or without authentication", async (origin) => {
    for (const options of [{}, alice])
      for (const method of ["POST", "PUT", "DELETE", "PATCH"])
        expect(await ask({ origin }, options, method)).toBe("forbidden");
  });

  test("may be the server's own, over http and https, or one of the list, exactly", async () => {
    const allowedOrigins = ["https://app.example"];
    expect(await ask({ origin: `http://${own}` })).toBe("local");
    expect(await ask({ origin: `https://${own}` })).toBe("local");
    expect(await ask({ origin: "https://app.example" }, { allowedOrigins })).toBe("local");
    for (const origin of [
      "http://app.example",
      "https://app.example:8443",
      "https://app.example.evil",
      "https://www.app.example",
      "HTTPS://APP.EXAMPLE",
    ])
      expect(await ask({ origin }, { allowedOrigins })).toBe("forbidden");
  });

  test("that is refused is named with the option that allows it, to the client and in the log (O7)", async () => {
    const warnings: unknown[] = [];
    const logger = { ...silentLogger, warn: (...warning: unknown[]) => void warnings.push(warning) };
    const request = new Request("http://127.0.0.1:3000/stream", {
      method: "POST",
      headers: { host: own, origin: "https://app.example" },
    });
    await expect(guard(request, { logger })).rejects.toThrow(/"https:\/\/app\.example".*option allowedOrigins/);
    expect(warnings).toEqual([[expect.stringContaining("allowedOrigins"), { origin: "https://app.example" }]]);
  });

  test("is not asked where nothing changes", async () => {
    for (const method of ["GET", "HEAD"])
      expect(await ask({ origin: "https://example.com" }, alice, method)).toBe("alice");
  });

  test("may be missing, unless a cookie or another site is at work", async () => {
    expect(await ask({})).toBe("local");
    expect(await ask({}, alice)).toBe("alice");
    expect(await ask({ cookie: "session=1" })).toBe("local");
    expect(await ask({ cookie: "session=1" }, alice)).toBe("forbidden");
    expect(await ask({ cookie: "session=1", origin: `http://${own}` }, alice)).toBe("alice");
    expect(await ask({ "sec-fetch-site": "cross-site" })).toBe("forbidden");
    expect(await ask({ "sec-fetch-site": "same-origin" })).toBe("local");
  });
});

describe("the owner", () => {
  test("is who the hook says, wherever the request was sent", async () => {
    expect(await ask({ host: "app.example" }, alice)).toBe("alice");
    expect(await ask({}, { authenticate: async () => ({ owner: "bob" }) })).toBe("bob");
  });

  test.each([undefined, { owner: "" }, null, {}])("is not %j", async (found) => {
    expect(await ask({}, { authenticate: () => found as never })).toBe("unauthenticated");
  });

  test("an owner may be given as a string", async () => {
    expect(await ask({}, { authenticate: () => "alice" })).toBe("alice");
    expect(await ask({}, { authenticate: async () => "" })).toBe("unauthenticated");
  });

  test("is not found when the hook fails", async () => {
    const authenticate = () => {
      throw new Error("no database");
    };
    await expect(guard(new Request("http://127.0.0.1/"), { authenticate })).rejects.toThrow("no database");
  });

  test("is not looked for when the origin is foreign", async () => {
    let asked = 0;
    const authenticate = () => ({ owner: String(++asked) });
    await ask({ origin: "https://example.com" }, { authenticate });
    expect(asked).toBe(0);
  });
});

describe("a WebSocket handshake", () => {
  /** The owner, or the code of the refusal, of a GET that changes things. */
  async function upgrade(headers: Record<string, string>, options: GuardOptions = {}): Promise<string> {
    const request = new Request("http://127.0.0.1:3000/live", { headers: { host: own, ...headers } });
    return guard(request, { logger: silentLogger, ...options }, "change").then(
      ({ owner }) => owner,
      (error: { code: string }) => error.code,
    );
  }

  test("comes from a page we know, or from no page at all", async () => {
    expect(await upgrade({})).toBe("local");
    expect(await upgrade({ origin: `http://${own}` })).toBe("local");
    expect(await upgrade({ origin: "https://app.example" }, { allowedOrigins: ["https://app.example"] })).toBe("local");
    expect(await upgrade({ origin: "https://evil.example" })).toBe("forbidden");
    expect(await upgrade({ origin: "null" })).toBe("forbidden");
  });

  test("with cookies says where it comes from", async () => {
    expect(await upgrade({ cookie: "session=1" }, alice)).toBe("forbidden");
    expect(await upgrade({ cookie: "session=1", origin: `http://${own}` }, alice)).toBe("alice");
    expect(await upgrade({ authorization: "Bearer 1" }, alice)).toBe("alice");
  });
});
