import { AgentChat } from "adk-stream-protocol/react";
import type { UIMessage } from "ai";
import type { ShownChat } from "./shown-chat.ts";

/** A recorded conversation for the parts that draw one. Nothing can be sent, and cards show what the recording says. */
export function readOnlyChat(messages: readonly UIMessage[], clockOffset: number): ShownChat {
  // It is never opened, so it asks no server.
  const chat = new AgentChat({ id: "recording" });
  chat.messages = [...messages] as typeof chat.messages;
  const { get, list } = chat.approvals;
  const approvals = { get, list, answer: refuse, resolve: refuse, retry: () => undefined };
  return { messages, approvals, clockOffset, isBusy: false, unsent: [] };
}

async function refuse(): Promise<never> {
  throw new Error("Nothing in a recording can be decided.");
}
