import { type BaseLlm, LogLevel, setLogLevel } from "@google/adk";
import { defineAgent, defineTool } from "adk-stream-protocol";
import { z } from "zod";

// ADK prints several lines for each request. `LogLevel.INFO` shows them.
setLogLevel(LogLevel.WARN);

/** What the agent has paid. A real application calls a payment service here. */
export const payments: { amount: number; recipient: string }[] = [];

// ADK's own FunctionTool and LlmAgent, which also tell the page the types of the tools.
const pay = defineTool({
  name: "pay",
  description: "Pays a person. The user approves each payment.",
  parameters: z.object({
    amount: z.number().positive().describe("How much, in dollars"),
    recipient: z.string().describe("Who gets the money"),
  }),
  requireConfirmation: true,
  execute: (payment) => ({ receipt: payments.push(payment) }),
});

export function createAgent(model: string | BaseLlm) {
  return defineAgent({
    name: "cashier",
    model,
    instruction: "Help the user. Call pay for every payment; the application asks for approval itself.",
    tools: [pay],
  });
}

export const rootAgent = createAgent("gemini-2.5-flash");
