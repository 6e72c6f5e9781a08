import { expect, test } from "vitest";
import { readHandshake } from "./handshake.ts";

const request = (path: string, headers: Record<string, string> = {}) =>
  new Request(`http://localhost${path}`, { headers });

test("says whose socket it is and what it asked for", async () => {
  expect(await readHandshake(request("/live"), {})).toEqual({
    identity: { owner: "local", actor: "local" },
    confirmation: "approval",
    numbered: false,
  });
  const options = { authenticate: () => ({ owner: "alice" }), confirmation: "tool" } as const;
  expect(await readHandshake(request("/live?sequence=1&modality=text"), options)).toEqual({
    identity: { owner: "alice", actor: "alice" },
    identifyAgain: expect.any(Function),
    confirmation: "tool",
    numbered: true,
  });
  expect(await readHandshake(request("/live?confirmation=approval"), options)).toMatchObject({
    confirmation: "approval",
  });
});

test.each([
  ["another path", "/other", {}, "not_found"],
  ["a path below it", "/live/x", {}, "not_found"],
  ["a modality that is not offered", "/live?modality=audio", {}, "invalid"],
  ["an unknown dialect", "/live?confirmation=maybe", {}, "invalid"],
  ["a foreign origin", "/live", { origin: "https://evil.example" }, "forbidden"],
])("refuses %s", async (_name, path, headers, code) => {
  await expect(readHandshake(request(path, headers), {})).rejects.toMatchObject({ code });
});

test("does not tell a client that is not allowed whether the path exists", async () => {
  const options = { authenticate: () => undefined };
  for (const path of ["/live", "/other"])
    await expect(readHandshake(request(path), options)).rejects.toMatchObject({ code: "unauthenticated" });
});

test("can be authenticated again, with the same address and headers", async () => {
  const seen: (string | null)[] = [];
  const authenticate = ({ url, headers }: Request) => {
    seen.push(url, headers.get("cookie"));
    return { owner: "team", actor: seen.length > 2 ? "bob" : "alice" };
  };
  const headers = { cookie: "session=1", origin: "http://localhost", host: "localhost" };
  const { identity, identifyAgain } = await readHandshake(request("/live?token=t", headers), { authenticate });
  expect(identity).toEqual({ owner: "team", actor: "alice" });
  expect(await identifyAgain?.()).toEqual({ owner: "team", actor: "bob" });
  expect(seen).toEqual(["http://localhost/live?token=t", "session=1", "http://localhost/live?token=t", "session=1"]);
});
