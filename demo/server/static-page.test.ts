import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadStaticPage, type StaticPage } from "./static-page.ts";

let folder: string;
let page: StaticPage;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "page-"));
  for (const version of ["v7", "v6"]) {
    mkdirSync(join(folder, version, "assets"), { recursive: true });
    writeFileSync(join(folder, version, "index.html"), `<p>${version}`);
    writeFileSync(join(folder, version, "assets", "index-abc.js"), `"${version}"`);
  }
  writeFileSync(join(folder, "secret.html"), "secret");
  writeFileSync(join(folder, "v7", "notes.txt"), "not a page");
  page = loadStaticPage({ "/": join(folder, "v7"), "/v6/": join(folder, "v6") });
});
afterAll(() => rmSync(folder, { recursive: true }));

const get = (path: string, init?: RequestInit) => page.respond(new Request(`http://127.0.0.1:3000${path}`, init));

test.each([
  ["/", "<p>v7"],
  ["/?chat=1", "<p>v7"],
  ["/?ai=6", "<p>v6"],
  ["/v6/", "<p>v6"],
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
  "/__proto__",
  "/constructor",
])("%s is not there", (path) => {
  expect(get(path)).toBeUndefined();
});

test("a file can be read and nothing else", () => {
  expect(get("/", { method: "POST" })?.status).toBe(405);
  expect(get("/", { method: "HEAD" })?.status).toBe(200);
});
