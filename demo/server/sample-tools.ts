import { setTimeout as delay } from "node:timers/promises";
import { FunctionTool } from "@google/adk";
import { idempotencyKey } from "adk-stream-protocol";
import { z } from "zod";

/**
 * Tools that look like real work, so that a visitor sees cards with long texts, commands and nested arguments, and calls
 * that are slow or fail. They touch nothing: no mail is sent, no command is run, no card is charged.
 */
export function createSampleTools({ slowMs }: { /** How long the slow tool takes. */ slowMs: number }): FunctionTool[] {
  const sendEmail = new FunctionTool({
    name: "send_email",
    description: "Sends an email in the user's name. The user approves each email.",
    parameters: z.object({
      to: z.array(z.string()).min(1).describe("The addresses of the recipients"),
      subject: z.string(),
      body: z.string().describe("The whole text, with line breaks"),
    }),
    requireConfirmation: true,
    execute: ({ to }, context) => {
      if (!context) throw new Error("An email needs the context of its call.");
      return { sent: true, to, message_id: `<${idempotencyKey(context)}@demo.example>` };
    },
  });

  const runCommand = new FunctionTool({
    name: "run_command",
    description: "Runs a shell command on the build server. The user approves each command.",
    parameters: z.object({
      command: z.string().describe("The command line"),
      directory: z.string().default("/srv/shop").describe("The working directory"),
    }),
    requireConfirmation: true,
    // The demo runs no commands at all.
    execute: ({ command, directory }) => ({
      exit_code: 0,
      stdout: `(demo) ${directory} $ ${command}\n(demo) Nothing was run.`,
    }),
  });

  const updateSettings = new FunctionTool({
    name: "update_settings",
    description: "Changes the settings of a service. The user approves each change.",
    parameters: z.object({
      service: z.string(),
      settings: z.object({
        replicas: z.number().int().min(0).max(1000),
        limits: z.object({ cpu: z.string(), memory: z.string() }),
        rollout: z.object({
          strategy: z.string(),
          steps: z.array(z.object({ percent: z.number(), wait: z.string() })),
        }),
      }),
    }),
    requireConfirmation: true,
    execute: ({ service, settings }) => ({ service, applied: settings, version: 42 }),
  });

  const exportReport = new FunctionTool({
    name: "export_report",
    description: "Exports a report with customer data. It takes a while. The user approves each export.",
    parameters: z.object({ report: z.string(), month: z.string(), format: z.string().default("csv") }),
    requireConfirmation: true,
    execute: async ({ report, month, format }, context) => {
      await delay(slowMs, undefined, { signal: context?.abortSignal });
      return { file: `${report}-${month}.${format}`.toLowerCase(), rows: 12_480 };
    },
  });

  const chargeCard = new FunctionTool({
    name: "charge_card",
    description: "Charges the company's credit card. The user approves each charge.",
    parameters: z.object({ amount: z.number(), currency: z.string().default("USD"), card: z.string() }),
    requireConfirmation: true,
    execute: ({ card }): { charged: boolean } => {
      throw new Error(`The bank declined the card ${card}: it has expired.`);
    },
  });

  const bookSeat = new FunctionTool({
    name: "book_seat",
    description:
      "Books a seat that is held for a few seconds. The user approves it in time, or the seat is free again.",
    parameters: z.object({ seat: z.string().describe("Row and letter, e.g. 12A") }),
    requireConfirmation: true,
    execute: ({ seat }) => ({ booked: true, seat }),
  });

  return [sendEmail, runCommand, updateSettings, exportReport, chargeCard, bookSeat] as FunctionTool[];
}
