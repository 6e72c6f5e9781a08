import { type BaseLlm, FunctionTool, LlmAgent } from "@google/adk";
import { z } from "zod";

/** What the agent has paid. A real application calls a payment service here. */
export const payments: { amount: number; recipient: string }[] = [];

const pay = new FunctionTool({
  name: "pay",
  description: "Pays a person. The user approves each payment.",
  parameters: z.object({
    amount: z.number().positive().describe("How much, in dollars"),
    recipient: z.string().describe("Who gets the money"),
  }),
  requireConfirmation: true,
  execute: (payment) => ({ receipt: payments.push(payment) }),
});

export function createAgent(model: string | BaseLlm): LlmAgent {
  return new LlmAgent({
    name: "cashier",
    model,
    instruction: "Help the user. Call pay for every payment; the application asks for approval itself.",
    tools: [pay],
  });
}

export const rootAgent = createAgent("gemini-2.5-flash");
