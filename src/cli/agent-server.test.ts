import { mkdtempSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LlmAgent } from "@google/adk";
import { expect, test } from "vitest";
import { memoryStore } from "../stores/memory.ts";
import { startAgentServer } from "./agent-server.ts";
import type { LoadedAgent } from "./agent-source.ts";
import { readSettings } from "./read-settings.ts";

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

function agentFile(authenticate: LoadedAgent["authenticate"]): LoadedAgent {
  const agent = new LlmAgent({ name: "helper", model: "gemini-2.5-flash" });
  return { agent, outline: { name: "helper", model: undefined, tools: [], agents: [] }, plugins: [], authenticate };
}

/** Asks for the approvals, as a machine in the network that says it is this one. */
async function statusFor(url: string): Promise<string | undefined> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.write("GET /approvals HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  let reply = "";
  for await (const piece of socket) reply += String(piece);
  return reply.split(" ")[1];
}

test("a save that removes authenticate does not open the server to the network", async () => {
  let saved = agentFile(() => undefined);
  const server = await startAgentServer({
    ...{ first: saved, load: async () => saved, shown: "agent.ts", appName: "agent", store: memoryStore() },
    ...{ port: 0, host: "0.0.0.0", ask: "toolsets", settings: readSettings({}), isScripted: true, debug: true },
    ...{ pageFolder: mkdtempSync(join(tmpdir(), "page-")), isOpenToOthers: true, token: undefined, logger: silent },
  });
  expect(await statusFor(server.url)).toBe("401");
  saved = agentFile(undefined);
  expect(await server.reload(() => undefined)).toMatch(/^agent\.ts no longer exports authenticate/);
  expect(await statusFor(server.url)).toBe("401");
  await server.close();
});
