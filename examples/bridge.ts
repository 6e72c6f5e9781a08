/** The agent of the examples and its bridge. In your application this is your own agent. */
import { FunctionTool, LlmAgent } from "@google/adk";
import { createBridge } from "adk-stream-protocol";
import { sqliteStore } from "adk-stream-protocol/stores/sqlite";
import { z } from "zod";

const pay = new FunctionTool({
  name: "pay",
  description: "Pays a person.",
  parameters: z.object({ amount: z.number(), recipient: z.string() }),
  requireConfirmation: true,
  execute: ({ amount, recipient }) => ({ paid: amount, to: recipient }),
});

const agent = new LlmAgent({
  name: "cashier",
  model: "gemini-2.5-flash",
  instruction: "You pay people when you are asked to.",
  tools: [pay],
});

const store = sqliteStore({ path: process.env["CHATS"] ?? ".data/chats.db" });

export const bridge = await createBridge({ agent, store, live: { model: "gemini-live-2.5-flash-preview" } });

/** Stops running turns, which go on after a restart, and closes the database. Close the server first. */
export async function closeBridge(): Promise<void> {
  await bridge.close();
  await store.close();
}
