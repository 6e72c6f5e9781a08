import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { compressFiles } from "../../demo/compress-files.ts";
import { loadStaticPage, type StaticPage } from "./static-page.ts";

const large = `"${"All work and no play. ".repeat(500)}"`;
let folder: string;
let page: StaticPage;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "page-"));
  for (const version of ["v7", "v6"]) {
    mkdirSync(join(folder, version, "assets"), { recursive: true });
    writeFileSync(join(folder, version, "index.html"), `<p>${version}`);
    writeFileSync(join(folder, version, "assets", "index-abc.js"), `"${version}"`);
  }
  writeFileSync(join(folder, "v7", "assets", "large-abc.js"), large);
  compressFiles(join(folder, "v7"));
  writeFileSync(join(folder, "secret.html"), "secret");
  writeFileSync(join(folder, "v7", "notes.txt"), "not a page");
  page = loadStaticPage({ "/": join(folder, "v7"), "/v6/": join(folder, "v6") });
});
afterAll(() => rmSync(folder, { recursive: true }));

const get = (path: string, init?: RequestInit) => page.respond(new Request(`http://127.0.0.1:3000${path}`, init));

test.each([
  ["/", "<p>v7"],
  ["/?chat=1", "<p>v7"],
  ["/v6/", "<p>v6"],
  ["/v6", "<p>v6"],
  ["/v6/?chat=1", "<p>v6"],
  ["/assets/index-abc.js", '"v7"'],
  ["/v6/assets/index-abc.js", '"v6"'],
])("%s is served", async (path, body) => {
  expect(await get(path)?.text()).toBe(body);
});

test("forbids frames, foreign sources and guessing of types", () => {
  const headers = get("/")?.headers;
  expect(headers?.get("content-security-policy")).toMatch(/default-src 'self'.*frame-ancestors 'none'/);
  expect(headers?.get("x-content-type-options")).toBe("nosniff");
  expect(headers?.get("content-type")).toBe("text/html; charset=utf-8");
});

test("only hashed files may be cached", () => {
  expect(get("/")?.headers.get("cache-control")).toBe("no-cache");
  expect(get("/assets/index-abc.js")?.headers.get("cache-control")).toContain("immutable");
});

test.each([
  "/secret.html",
  "/../secret.html",
  "/%2e%2e/secret.html",
  "/..%2fsecret.html",
  "/assets/../../secret.html",
  "//secret.html",
  "/notes.txt",
  "/assets",
  "/index.html%00.js",
  "/assets/large-abc.js.br",
  "/assets/large-abc.js.gz",
  "/__proto__",
  "/constructor",
])("%s is not there", (path) => {
  expect(get(path)).toBeUndefined();
});

test("a file can be read and nothing else", () => {
  expect(get("/", { method: "POST" })?.status).toBe(405);
  expect(get("/", { method: "HEAD" })?.status).toBe(200);
});

test.each([
  ["br", brotliDecompressSync],
  ["gzip", gunzipSync],
] as const)("a large file is sent as %s to those who accept it", async (encoding, decompress) => {
  const response = get("/assets/large-abc.js", { headers: { "accept-encoding": encoding } });
  const body = new Uint8Array((await response?.arrayBuffer()) ?? []);
  expect(response?.headers.get("content-encoding")).toBe(encoding);
  expect(response?.headers.get("content-length")).toBe(String(body.length));
  expect(response?.headers.get("vary")).toBe("accept-encoding");
  expect(body.length).toBeLessThan(large.length / 4);
  expect(decompress(body).toString()).toBe(large);
});

test("a file is sent as it is to those who accept nothing else, and if it is small", async () => {
  expect(await get("/assets/large-abc.js")?.text()).toBe(large);
  const small = get("/assets/index-abc.js", { headers: { "accept-encoding": "br, gzip" } });
  expect(small?.headers.has("content-encoding")).toBe(false);
});

test("a page that has not changed is not sent again", () => {
  const etag = get("/")?.headers.get("etag") ?? "";
  expect(etag).toMatch(/^".{22}"$/);
  for (const tag of [etag, `W/${etag}`, `"other", ${etag}`])
    expect(get("/", { headers: { "if-none-match": tag } })?.status).toBe(304);
  expect(get("/", { headers: { "if-none-match": '"other"' } })?.status).toBe(200);
  expect(get("/v6/", { headers: { "if-none-match": etag } })?.status).toBe(200);
});

test("each form of a file has its own tag", () => {
  const tags = ["br", "gzip", ""].map((encoding) =>
    get("/assets/large-abc.js", { headers: { "accept-encoding": encoding } })?.headers.get("etag"),
  );
  expect(new Set(tags).size).toBe(3);
});
