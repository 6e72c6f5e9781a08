import { resolve } from "node:path";
import react from "@vitejs/plugin-react";
import { defineConfig, type ResolvedConfig } from "vite";
import { compressFiles } from "./compress-files.ts";

/**
 * One page, built for both majors of AI SDK: `--mode v7` as installed, `--mode v6` with the aliases. The second is served
 * under /v6/, so that one server can serve both.
 */
export default defineConfig(({ mode }) => ({
  root: "page",
  base: mode === "v6" ? "/v6/" : "/",
  plugins: [react(), compression()],
  define: { __AI_MAJOR__: JSON.stringify(mode === "v6" ? "6" : "7") },
  resolve: {
    alias:
      mode === "v6"
        ? [
            { find: /^ai$/, replacement: "ai-v6" },
            { find: /^@ai-sdk\/react$/, replacement: "@ai-sdk/react-v3" },
          ]
        : [],
  },
  build: {
    outDir: outDirOf(mode),
    emptyOutDir: true,
    target: "es2023",
    // The content security policy allows no data: scripts or styles, so nothing is inlined.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1500,
  },
}));

function outDirOf(mode: string): string {
  return resolve(import.meta.dirname, "dist", mode === "v6" ? "page-v6" : "page-v7");
}

/** Compresses the files when all of them are written. */
function compression() {
  let folder = "";
  return {
    name: "compress-files",
    apply: "build" as const,
    configResolved: ({ build }: ResolvedConfig) => void (folder = build.outDir),
    closeBundle: () => compressFiles(folder),
  };
}
