/** What a page loads of this package: how much it is, and that nothing of Node or ADK is in it. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");

/** The entry minified with everything it imports, except the peers and `outside`. */
async function bundle(entry: string, outside: RegExp[] = []) {
  const external = [/^ai$/, /^@ai-sdk\//, /^react(-dom)?(\/|$)/, ...outside];
  const build = await rolldown({ input: resolve(root, entry), platform: "browser", external, logLevel: "silent" });
  const { output } = await build.generate({ format: "es", minify: true, comments: false });
  await build.close();
  const chunks = output.flatMap((file) => (file.type === "chunk" ? [file] : []));
  return {
    bytes: gzipSync(chunks.map(({ code }) => code).join(""), { level: 9 }).length,
    imports: [...new Set(chunks.flatMap(({ imports }) => imports))].toSorted(),
    modules: chunks.flatMap(({ moduleIds }) => moduleIds),
  };
}

describe("what a page loads", () => {
  it("of client is small, and nothing of Node, React or ADK", async () => {
    const { bytes, imports, modules } = await bundle("src/client/index.ts");
    expect(imports).toEqual([]);
    expect(modules.filter((path) => !/\/src\/(client|protocol)\//.test(path))).toEqual([]);
    // The goal is 8 kB. All of it is larger, but a page has one of the two transports.
    expect(bytes).toBeLessThanOrEqual(13 * 1024);
  });

  it.each([
    ["SSE", "attachApprovals, SseChatTransport", 8.25],
    ["a WebSocket", "attachApprovals, WebSocketChatTransport", 10.55],
  ])("of client for chats and approvals over %s is small", async (_, names, kilobytes) => {
    const folder = mkdtempSync(join(tmpdir(), "bundle-"));
    const entry = join(folder, "entry.ts");
    writeFileSync(entry, `export { ${names} } from ${JSON.stringify(join(root, "src/client/index.ts"))};`);
    const { bytes } = await bundle(entry);
    rmSync(folder, { recursive: true });
    expect(bytes).toBeLessThanOrEqual(kilobytes * 1024);
  });

  it("of react beside client is small, and nothing of Node or ADK", async () => {
    const { bytes, imports, modules } = await bundle("src/react/index.ts", [/\/client\//]);
    expect(imports.filter((path) => !path.includes("/client/"))).toEqual([
      "@ai-sdk/react",
      "react",
      "react/jsx-runtime",
    ]);
    expect(modules.filter((path) => !/\/src\/(react|protocol)\//.test(path))).toEqual([]);
    expect(bytes).toBeLessThanOrEqual(14.25 * 1024);
  });
});
