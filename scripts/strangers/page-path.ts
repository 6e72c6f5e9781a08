import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Project } from "./project.ts";

/** The oldest and the newest React, with the majors of AI SDK's hooks. */
const combinations = [
  ["react@18.2.0", "react-dom@18.2.0", "ai@^6.0.231", "@ai-sdk/react@^3.0.0"],
  ["react@18.2.0", "react-dom@18.2.0", "ai@^7.0.32", "@ai-sdk/react@^4.0.0"],
  ["react@^19.0.0", "react-dom@^19.0.0", "ai@^6.0.231", "@ai-sdk/react@^3.0.0"],
  ["react@^19.0.0", "react-dom@^19.0.0", "ai@^7.0.32", "@ai-sdk/react@^4.0.0"],
];

/** A page for an agent that runs elsewhere: it needs neither ADK nor Gemini's client, and bundles for browsers. */
export async function pagePath(tarball: string): Promise<void> {
  for (const packages of combinations) {
    const project = new Project();
    try {
      project.install(tarball, ...packages);
      if (project.has("node_modules/@google")) throw new Error("A page-only project has a package of Google.");
      console.log(`  ${packages.join(" ")}: ${project.installedMegabytes().toFixed(0)} MB installed`);
      const react = Object.keys(exportsOf(project)).includes("./react");
      project.write("index.html", '<div id="root"></div><script type="module" src="/main.tsx"></script>');
      project.write("main.tsx", pageWith(react));
      project.install("vite@8", "typescript@5.9.3", "@types/react@19", "@types/react-dom@19");
      project.run(
        "tsc",
        "--noEmit",
        "--jsx",
        "react-jsx",
        "--module",
        "esnext",
        "--target",
        "es2023",
        "--skipLibCheck",
        "--strict",
        "--moduleResolution",
        "bundler",
        "main.tsx",
      );
      project.run("vite", "build", "--logLevel", "warn");
      const scripts = readdirSync(join(project.folder, "dist/assets")).filter((file) => file.endsWith(".js"));
      for (const script of scripts)
        if (/["']node:/.test(readFileSync(join(project.folder, "dist/assets", script), "utf8")))
          throw new Error(`The page imports a module of Node in ${script}.`);
    } finally {
      project.remove();
    }
  }
}

function exportsOf({ folder }: Project): Record<string, unknown> {
  const file = join(folder, "node_modules/adk-stream-protocol/package.json");
  return (JSON.parse(readFileSync(file, "utf8")) as { exports: Record<string, unknown> }).exports;
}

function pageWith(react: boolean): string {
  return `
import { useChat } from "@ai-sdk/react";
import { WebSocketChatTransport } from "adk-stream-protocol/client";
import { visibleText } from "adk-stream-protocol/protocol";
${react ? 'import * as parts from "adk-stream-protocol/react";' : "const parts = {};"}
import { createRoot } from "react-dom/client";

const transport = new WebSocketChatTransport({ url: "/live" });

function Page() {
  const { messages } = useChat({ transport });
  return <pre>{messages.length}{visibleText("a").length}{Object.keys(parts).join()}</pre>;
}

createRoot(document.getElementById("root")!).render(<Page />);
`;
}
