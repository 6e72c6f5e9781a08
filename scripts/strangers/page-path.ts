import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { payInBrowser } from "./page-in-browser.ts";
import { Project } from "./project.ts";

/** The oldest of everything that package.json allows, and the newest, with each major of AI SDK. */
const combinations = [
  ["react@18.2.0", "react-dom@18.2.0", "ai@6.0.231", "@ai-sdk/react@3.0.235"],
  ["react@18.2.0", "react-dom@18.2.0", "ai@7.0.32", "@ai-sdk/react@4.0.35"],
  ["react@^19.0.0", "react-dom@^19.0.0", "ai@^6.0.231", "@ai-sdk/react@^3.0.235"],
  ["react@^19.0.0", "react-dom@^19.0.0", "ai@^7.0.32", "@ai-sdk/react@^4.0.35"],
];
const compilers = ["typescript@5.9.3", "typescript@^7.0.2"];
const resolutions = [
  ["--module", "esnext", "--moduleResolution", "bundler"],
  ["--module", "nodenext", "--moduleResolution", "nodenext"],
];

/** A page for an agent that runs elsewhere: it needs neither ADK nor Gemini's client, and bundles for browsers. */
export async function pagePath(tarball: string): Promise<void> {
  for (const packages of combinations) {
    const project = new Project();
    try {
      project.install(tarball, ...packages);
      if (project.has("node_modules/@google")) throw new Error("A page-only project has a package of Google.");
      console.log(`  ${packages.join(" ")}: ${project.installedMegabytes().toFixed(0)} MB installed`);
      project.write("index.html", '<div id="root"></div><script type="module" src="/main.tsx"></script>');
      project.write("main.tsx", page);
      const major = packages[0]?.includes("@18") ? 18 : 19;
      project.install("vite@8", `@types/react@${major}`, `@types/react-dom@${major}`);
      for (const compiler of compilers) {
        project.install(compiler);
        for (const resolution of resolutions) checkTypes(project, resolution);
      }
      project.run("vite", "build", "--logLevel", "warn");
      const scripts = readdirSync(join(project.folder, "dist/assets")).filter((file) => file.endsWith(".js"));
      for (const script of scripts)
        if (/["']node:/.test(readFileSync(join(project.folder, "dist/assets", script), "utf8")))
          throw new Error(`The page imports a module of Node in ${script}.`);
      await payInBrowser(join(project.folder, "dist"));
      console.log("  asked, approved and paid in a browser, over SSE and over a WebSocket");
    } finally {
      project.remove();
    }
  }
}

/** With `skipLibCheck: false`, so that our own declarations are checked too. Errors in those of others are theirs. */
function checkTypes(project: Project, resolution: readonly string[]): void {
  const options = ["--noEmit", "--pretty", "false", "--jsx", "react-jsx", "--target", "es2023", "--strict"];
  const { stdout } = project.try("tsc", [...options, "--skipLibCheck", "false", ...resolution, "main.tsx"]);
  const errors = stdout.split("\n").filter((line) => /^(?:main|node_modules\/adk-stream-protocol\/)|^error/.test(line));
  if (errors.length > 0) throw new Error(`tsc ${resolution.join(" ")}:\n${errors.join("\n")}`);
}

/** The hooks and components, and two mistakes that the compiler finds only if it has their types. */
const page = `
import { WebSocketChatTransport } from "adk-stream-protocol/client";
import { visibleText } from "adk-stream-protocol/protocol";
import { ApprovalCard, ApprovalInbox, ConnectionState, useAgentChat, useApprovals } from "adk-stream-protocol/react";
import { ja } from "adk-stream-protocol/react/ja";
import "adk-stream-protocol/react/styles.css";
import { createRoot } from "react-dom/client";

const isLive = new URLSearchParams(location.search).get("transport") === "websocket";
const transport = isLive ? new WebSocketChatTransport({ url: "/live", hold: true }) : "sse";

function Page({ id }: { id: string }) {
  const chat = useAgentChat({ id, transport });
  return (
    <main>
      <ConnectionState connection={chat.connection} labels={ja} />
      <button onClick={() => void chat.sendMessage({ text: "Pay Hanako." })}>Pay Hanako</button>
      {chat.messages.flatMap(({ parts }) =>
        parts.map((part, index) =>
          part.type === "text" ? (
            <p key={index}>{visibleText(part.text).map((run) => run.text).join("")}</p>
          ) : (
            <ApprovalCard key={index} chat={chat} part={part} />
          ),
        ),
      )}
    </main>
  );
}

function Inbox() {
  const approvals = useApprovals({ all: true });
  return <ApprovalInbox approvals={approvals} chatHref={(id) => id.slice(1)} />;
}

// @ts-expect-error -- a card needs a chat
const withoutChat = <ApprovalCard part={{ type: "text" }} />;
// @ts-expect-error -- the id is text
const withoutId = () => useAgentChat({ id: 1 });

const root = document.getElementById("root");
if (root) createRoot(root).render([<Page key="page" id={isLive ? "c1" : "c2"} />, <Inbox key="inbox" />]);
export { withoutChat, withoutId };
`;
