/** What a page loads of this package: how much it is, and that nothing of Node or ADK is in it. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { type OutputChunk, rolldown } from "rolldown";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");

/** The entry minified with everything it imports, except the peers and `outside`, in the files that a page loads. */
async function bundle(entry: string, outside: RegExp[] = []) {
  const external = [/^ai$/, /^@ai-sdk\//, /^react(-dom)?(\/|$)/, ...outside];
  const build = await rolldown({ input: resolve(root, entry), platform: "browser", external, logLevel: "silent" });
  const { output } = await build.generate({ format: "es", minify: true, comments: false });
  await build.close();
  const files = output.flatMap((file) => (file.type === "chunk" ? [file] : []));
  const first = loadedWith(
    files.filter(({ isEntry }) => isEntry).map(({ fileName }) => fileName),
    files,
  );
  return {
    /** What a page loads at once. */
    bytes: sizeOf(first),
    /** What it loads when it makes a transport for a WebSocket. */
    later: sizeOf(files.filter((file) => !first.includes(file))),
    imports: [...new Set(files.flatMap(({ imports }) => imports))]
      .filter((path) => !files.some(({ fileName }) => fileName === path))
      .toSorted(),
    modules: files.flatMap(({ moduleIds }) => moduleIds),
  };
}

/** The files with these names, and those that they import without waiting. */
function loadedWith(names: readonly string[], files: readonly OutputChunk[]): OutputChunk[] {
  const loaded = new Set(names);
  for (const name of loaded)
    for (const path of files.find((file) => file.fileName === name)?.imports ?? []) loaded.add(path);
  return files.filter(({ fileName }) => loaded.has(fileName));
}

function sizeOf(files: readonly OutputChunk[]): number {
  return gzipSync(files.map(({ code }) => code).join(""), { level: 9 }).length;
}

async function bundleOf(names: string) {
  const folder = mkdtempSync(join(tmpdir(), "bundle-"));
  try {
    const entry = join(folder, "entry.ts");
    writeFileSync(entry, `export { ${names} } from ${JSON.stringify(join(root, "src/client/index.ts"))};`);
    return await bundle(entry);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe("what a page loads", () => {
  it("of client is small, and nothing of Node, React or ADK", async () => {
    const { bytes, imports, modules } = await bundle("src/client/index.ts");
    expect(imports).toEqual([]);
    expect(modules.filter((path) => !/\/src\/(client|protocol)\//.test(path))).toEqual([]);
    expect(bytes).toBeLessThanOrEqual(8000);
  });

  it.each([
    ["a chat with approvals over SSE", "attachApprovals, SseChatTransport", 7350],
    ["a chat with approvals over a WebSocket, before it is opened", "attachApprovals, WebSocketChatTransport", 6000],
    ["useAgentChat", "attachApprovals, SseChatTransport, WebSocketChatTransport", 7820],
  ])("of client for %s is small", async (_, names, limit) => {
    const { bytes } = await bundleOf(names);
    expect(bytes).toBeLessThanOrEqual(limit);
  });

  it("of client for a WebSocket comes when the page makes one, and is small", async () => {
    expect((await bundleOf("attachApprovals, SseChatTransport")).later).toBe(sizeOf([]));
    const { later } = await bundleOf("attachApprovals, SseChatTransport, WebSocketChatTransport");
    expect(later).toBeGreaterThan(4000);
    expect(later).toBeLessThanOrEqual(4820);
  });

  it("of react beside client is small, and nothing of Node or ADK", async () => {
    const { bytes, imports, modules } = await bundle("src/react/index.ts", [/\/client\//]);
    expect(imports.filter((path) => !path.includes("/client/"))).toEqual([
      "@ai-sdk/react",
      "react",
      "react/jsx-runtime",
    ]);
    expect(modules.filter((path) => !/\/src\/(react|protocol)\//.test(path))).toEqual([]);
    // The goal is 14 kB, and a kB has 1,000 bytes.
    expect(bytes).toBeLessThanOrEqual(14_000);
  });
});
