import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadDemoPages } from "./demo-pages.ts";

test("/?ai=6 is the page for AI SDK 6, and / the other one", async () => {
  const folder = mkdtempSync(join(tmpdir(), "pages-"));
  try {
    for (const version of ["v7", "v6"]) {
      mkdirSync(join(folder, version));
      writeFileSync(join(folder, version, "index.html"), version);
    }
    const page = loadDemoPages({ v7: join(folder, "v7"), v6: join(folder, "v6") });
    const get = (path: string, init?: RequestInit) => page.respond(new Request(`http://127.0.0.1${path}`, init));
    expect(await get("/")?.text()).toBe("v7");
    expect(await get("/?ai=6&chat=1")?.text()).toBe("v6");
    const etag = get("/")?.headers.get("etag") ?? "";
    expect(get("/?ai=6", { headers: { "if-none-match": etag } })?.status).toBe(200);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
