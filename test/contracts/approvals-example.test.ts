/** The examples of docs/approvals.md. Each block of that page is a part of this file, and what the page says is checked here. */
import { FunctionTool, LlmAgent, LongRunningFunctionTool } from "@google/adk";
import { type BridgeOptions, createBridge, silentLogger } from "adk-stream-protocol";
import { listen } from "adk-stream-protocol/server";
import { memoryStore } from "adk-stream-protocol/stores/memory";
import { call, geminiAt, startScriptedGemini, text } from "adk-stream-protocol/testing";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { examplesOf, readProjectFile } from "../fixtures/documents.ts";

const managers = new Set(["mia"]);

const secondPerson: Partial<BridgeOptions> = {
  authorize: async (actor, approval, decision) => {
    if (actor === approval.requestedBy) return !decision.approved;
    return managers.has(actor);
  },
};

interface Waiting {
  id: string;
  owner: string;
  requestedBy?: string;
  toolName: string;
  input: unknown;
  expiresAt: number;
}

async function listWaiting(server: string): Promise<Waiting[]> {
  const response = await fetch(`${server}/approvals?state=pending`);
  return ((await response.json()) as { approvals: Waiting[] }).approvals;
}

/** Returns the state that counts. It is not what was asked for if someone else was faster. */
async function decide(server: string, id: string, approved: boolean, reason?: string): Promise<string> {
  const response = await fetch(`${server}/approvals/${id}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ approved, ...(reason !== undefined && { reason }) }),
  });
  if (!response.ok && response.status !== 409) throw new Error(`The decision was refused (${response.status}).`);
  return ((await response.json()) as { state: string }).state;
}

async function resolve(server: string, id: string, happened: boolean, outcome?: unknown): Promise<string> {
  const response = await fetch(`${server}/approvals/${id}/resolution`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ happened, ...(outcome !== undefined && { outcome }) }),
  });
  return ((await response.json()) as { state: string }).state;
}

test("a manager decides in another owner's chat, and resolves what is not known", async () => {
  let clock = Date.now();
  const gemini = await startScriptedGemini({
    rules: [
      { when: /Pay/, say: [call("pay", { amount: 50 })] },
      { when: /Deploy/, say: [call("deploy", {})] },
      { say: [text("Done.")] },
    ],
  });
  const payments: unknown[] = [];
  const pay = new FunctionTool({
    name: "pay",
    description: "Pays.",
    parameters: z.object({ amount: z.number() }),
    requireConfirmation: true,
    execute: (payment) => ({ receipt: payments.push(payment) }),
  });
  const deploy = new LongRunningFunctionTool({
    name: "deploy",
    description: "Deploys. The result comes later.",
    parameters: z.object({}),
    requireConfirmation: true,
    execute: () => undefined,
  });
  const model = geminiAt({ model: "gemini-2.5-flash", url: gemini.url });
  const agent = new LlmAgent({ name: "cashier", model, tools: [pay, deploy] });
  const store = memoryStore({ now: () => clock });
  const tools = { deploy: { reportMs: 1000 } };
  const bridge = await createBridge({ agent, store, logger: silentLogger, tools, sweepMs: 0, ...secondPerson });
  const serve = (owner: string, actor: string) =>
    listen({ bridge, port: 0, logger: silentLogger, authenticate: () => ({ owner, actor }) });
  const [alices, managersServer] = [await serve("alice", "alice"), await serve("finance", "mia")];
  const say = async (words: string) => {
    const message = { id: words, role: "user" as const, parts: [{ type: "text" as const, text: words }] };
    const reply = await bridge.submit("alice", words, { type: "message", message });
    if ("turn" in reply) await reply.turn.done;
  };

  await say("Pay 50.");
  const [question] = await listWaiting(managersServer.url);
  expect(question).toMatchObject({ owner: "alice", requestedBy: "alice", toolName: "pay", input: { amount: 50 } });
  const id = question?.id ?? "";
  await expect(decide(alices.url, id, true)).rejects.toThrow("The decision was refused (404).");
  expect(payments).toEqual([]);
  expect(await decide(managersServer.url, id, true, "Fine.")).toMatch(/^(?:approved|executing|succeeded)$/);
  expect(await decide(managersServer.url, id, false)).toMatch(/^(?:approved|executing|succeeded)$/);
  await vi.waitFor(() => expect(payments).toEqual([{ amount: 50 }]));

  await say("Deploy.");
  const [deployment] = await listWaiting(managersServer.url);
  const deploymentId = deployment?.id ?? "";
  await decide(managersServer.url, deploymentId, true);
  await vi.waitFor(async () => expect((await store.getApproval(deploymentId))?.state).toBe("waiting"));
  clock += 2000;
  await bridge.sweep();
  expect((await store.getApproval(deploymentId))?.state).toBe("indeterminate");
  expect(await resolve(managersServer.url, deploymentId, true, { version: 2 })).toBe("succeeded");

  for (const server of [alices, managersServer]) await server.close();
  await bridge.close();
  await store.close();
  await gemini.close();
});

test("docs/approvals.md shows examples that are compiled and run", () => {
  const blocks = examplesOf("docs/approvals.md").filter(({ language }) => language === "ts");
  expect(blocks.length).toBeGreaterThan(2);
  for (const { code } of blocks) expect(readProjectFile("test/contracts/approvals-example.test.ts")).toContain(code);
});
