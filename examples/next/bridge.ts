import { FunctionTool, LlmAgent } from "@google/adk";
import { type Bridge, createBridge } from "adk-stream-protocol";
import { sqliteStore } from "adk-stream-protocol/stores/sqlite";
import { z } from "zod";

const pay = new FunctionTool({
  name: "pay",
  description: "Pays a person.",
  parameters: z.object({ amount: z.number(), recipient: z.string() }),
  requireConfirmation: true,
  execute: ({ amount, recipient }) => ({ paid: amount, to: recipient }),
});

function openBridge(): Promise<Bridge> {
  const agent = new LlmAgent({ name: "cashier", model: "gemini-2.5-flash", instruction: "Help.", tools: [pay] });
  const store = sqliteStore({ path: ".data/chats.db" });
  return createBridge({ agent, store, live: { model: "gemini-live-2.5-flash-preview" } });
}

/** Next loads this module more than once: for routes, for the custom server, and after a change. All share one bridge. */
const shared = globalThis as { cashierBridge?: Promise<Bridge> };

export function getBridge(): Promise<Bridge> {
  return (shared.cashierBridge ??= openBridge());
}
