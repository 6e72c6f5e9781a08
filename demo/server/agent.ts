import { FunctionTool, LlmAgent, LongRunningFunctionTool, type BaseLlm } from "@google/adk";
import { clientTool, idempotencyKey } from "adk-stream-protocol";
import { z } from "zod";
import type { Deployments } from "./deployments.ts";
import { createSampleTools } from "./sample-tools.ts";
import type { Wallet } from "./wallet.ts";
import { weatherIn } from "./weather.ts";

const instruction = [
  "You are a friendly assistant with a small wallet, the weather, music, the user's location, deployments and office work (email, commands, settings, reports, seats).",
  "Answer in the language of the user, briefly.",
  "Call process_payment for every payment the user asks for; several payments in one request are several calls at once.",
  "The application asks the user for approval itself: never ask for it in words, and never say that something was done before a tool result says so.",
  "When a payment was denied, expired or failed, say so plainly and do not repeat it unasked.",
  "A deployment that has begun is not live yet: say that it has begun, and what came of it when you are told.",
].join("\n");

export interface AgentOptions {
  model: BaseLlm | string;
  wallet: Wallet;
  deployments: Deployments;
  /** How long the slow sample tool takes. */
  slowMs?: number;
}

/** The demo's agent. It has a tool of each kind: free or gated, on the server, in the browser, or reported later. */
export function createAgent({ model, wallet, deployments, slowMs = 0 }: AgentOptions): LlmAgent {
  const getWeather = new FunctionTool({
    name: "get_weather",
    description: "The current weather at a place.",
    parameters: z.object({ location: z.string().describe("City, e.g. Tokyo") }),
    execute: ({ location }) => weatherIn(location),
  });

  const processPayment = new FunctionTool({
    name: "process_payment",
    description: "Pays money from the user's wallet to a recipient. The user approves each payment.",
    parameters: z.object({
      amount: z.number().describe("How much, in units of the currency"),
      recipient: z.string().describe("Who gets the money"),
      currency: z.string().default("USD").describe("ISO 4217 code"),
      description: z.string().default("").describe("What the payment is for"),
    }),
    requireConfirmation: true,
    execute: async ({ amount, recipient, currency, description }, context) => {
      if (!context) throw new Error("A payment needs the context of its call.");
      const order = { amount, recipient, currency, description };
      const receipt = await wallet.pay(idempotencyKey(context), order, context.abortSignal);
      return {
        success: true,
        transaction_id: receipt.transaction_id,
        amount: receipt.amount,
        currency: receipt.currency,
        recipient: receipt.recipient,
        description: receipt.description,
        wallet_balance: receipt.wallet_balance,
        timestamp: new Date(receipt.at).toISOString(),
      };
    },
  });

  const deploy = new LongRunningFunctionTool({
    name: "deploy",
    description: "Deploys a service. It takes a while; the outcome is reported later. The user approves it.",
    parameters: z.object({
      service: z.string().describe("What to deploy, e.g. shop"),
      environment: z.string().default("production").describe("Where, e.g. production"),
    }),
    requireConfirmation: true,
    execute: (order, context) => {
      if (!context) throw new Error("A deployment needs the context of its call.");
      return deployments.begin(context.userId, idempotencyKey(context), order, context.abortSignal);
    },
  });

  return new LlmAgent({
    name: "wallet_assistant",
    description: "An assistant with a small wallet.",
    model,
    instruction,
    tools: [
      getWeather,
      processPayment,
      deploy,
      ...createSampleTools({ slowMs }),
      clientTool({
        name: "change_bgm",
        description: "Changes the background music on the user's page.",
        parameters: z.object({ track: z.number().int().min(1).max(2).describe("Track number, 1 or 2") }),
      }),
      clientTool({
        name: "get_location",
        description: "Where the user is, asked from their browser. The user approves it.",
        parameters: z.object({}),
        requireConfirmation: true,
      }),
    ],
  });
}
