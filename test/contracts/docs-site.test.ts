/** The documentation site as it is written and served. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Script } from "node:vm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildSite } from "../../scripts/docs/build-site.ts";
import { highlight } from "../../scripts/docs/highlight.ts";
import { serveSite } from "../../scripts/docs/serve-site.ts";
import { createSlugs } from "../../scripts/docs/slugs.ts";
import { root } from "../fixtures/documents.ts";

const outer = mkdtempSync(join(tmpdir(), "docs-site-"));
const folder = join(outer, "site");
let pages: ReturnType<typeof buildSite>;

beforeAll(() => {
  writeFileSync(join(outer, "secret.html"), "secret");
  pages = buildSite(root, folder);
});
afterAll(() => rmSync(outer, { recursive: true }));

describe("the site", () => {
  it("has a file for every page, and all that the pages load", () => {
    for (const { address, title } of pages) {
      const html = readFileSync(join(folder, address), "utf8");
      expect(html, address).toContain("<h1");
      expect(title, address).not.toBe("");
      for (const [, loaded = ""] of html.matchAll(/<(?:script|img|link)\b[^>]*(?:src|href)="([^"]*)"/g))
        expect(() => readFileSync(join(folder, address, "..", loaded)), `${address}: ${loaded}`).not.toThrow();
    }
  });

  it.each(["theme", "controls", "search-box"])("has the script %s.js as plain JavaScript", (name) => {
    const script = readFileSync(join(folder, `assets/${name}.js`), "utf8");
    expect(script).not.toMatch(/^\s*(?:import|export)\b/m);
    expect(() => new Script(script)).not.toThrow();
  });

  it("is served with a policy that allows its own files only, and nothing outside its folder", async () => {
    const server = await serveSite(folder, 0);
    const { port } = server.address() as AddressInfo;
    // `fetch` would resolve the dots before it sends the path.
    const get = (path: string) =>
      new Promise<{ status: number | undefined; policy: string }>((resolve, reject) => {
        const sent = request({ port, path, host: "127.0.0.1" }, (response) => {
          response.resume();
          resolve({ status: response.statusCode, policy: String(response.headers["content-security-policy"]) });
        });
        sent.on("error", reject).end();
      });
    try {
      expect(await get("/")).toMatchObject({ status: 200, policy: expect.stringContaining("default-src 'none'") });
      expect((await get("/reference/main.html?x=1")).status).toBe(200);
      const outside = ["/../secret.html", "/%2e%2e/secret.html", "/..%2fsecret.html", "/reference", "/%00", "/%"];
      for (const path of outside) expect((await get(path)).status, path).toBe(404);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});

describe("the anchor of a heading", () => {
  it.each([
    ["7. Limits", "7-limits"],
    ["`WS /live`", "ws-live"],
    ["Effects: what a crash in the middle of a call means", "effects-what-a-crash-in-the-middle-of-a-call-means"],
    ["日本語 の見出し", "日本語-の見出し"],
  ])("%s is the one of GitHub", (heading, anchor) => {
    expect(createSlugs()(heading)).toBe(anchor);
  });

  it("is unique on a page", () => {
    const slugOf = createSlugs();
    expect([slugOf("Time"), slugOf("Time"), slugOf("Time")]).toEqual(["time", "time-1", "time-2"]);
  });
});

describe("highlighted code", () => {
  it("is escaped", () => {
    const code = `const a = "<script>" + '&'; // <b>`;
    for (const language of ["ts", "sh", "json", "yaml", ""]) {
      const html = highlight(code, language);
      expect(html.replaceAll(/<\/?span[^>]*>/g, "")).not.toMatch(/<|&(?!lt;|gt;|amp;|quot;|#39;)/);
    }
  });

  it("links names, and not properties of the same name", () => {
    const html = highlight("listen({ listen: bridge.listen })", "ts", (name) => (name === "listen" ? "#l" : undefined));
    expect(html.match(/href="#l"/g)).toHaveLength(1);
  });
});
