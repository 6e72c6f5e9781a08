import { FunctionTool, LlmAgent } from "@google/adk";
import { createBridge } from "adk-stream-protocol";
import { createHandler } from "adk-stream-protocol/server";
import { sqliteStore } from "adk-stream-protocol/stores/sqlite";
import { z } from "zod";

const pay = new FunctionTool({
  name: "pay",
  description: "Pays a person.",
  parameters: z.object({ amount: z.number(), recipient: z.string() }),
  requireConfirmation: true,
  execute: ({ amount, recipient }) => ({ paid: amount, to: recipient }),
});

async function openAgent() {
  const agent = new LlmAgent({ name: "cashier", model: "gemini-2.5-flash", instruction: "Help.", tools: [pay] });
  const store = sqliteStore({ path: ".data/chats.db" });
  const bridge = await createBridge({ agent, store, live: { model: "gemini-live-2.5-flash-preview" } });
  return { bridge, handle: createHandler({ bridge }) };
}

/**
 * Next loads this module more than once: for routes, for the custom server, and after a change. All share one bridge, and
 * its handler, because the handler must come from the same copy of the package as the bridge.
 */
const shared = globalThis as { cashier?: ReturnType<typeof openAgent> };

export function getAgent(): ReturnType<typeof openAgent> {
  return (shared.cashier ??= openAgent());
}
