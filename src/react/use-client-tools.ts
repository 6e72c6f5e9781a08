import type { UIMessage } from "ai";
import { useEffect, useRef } from "react";
import type { AgentChat } from "./agent-chat.ts";
import { type ClientCall, callsToRun } from "./calls-to-run.ts";
import { deliverResult } from "./deliver-result.ts";
import { rememberYes, saidYesHere, whileClaimed } from "./while-claimed.ts";

/** What a browser tool is told beside its input. */
export interface ClientToolContext {
  /** The id of the call's part. */
  toolCallId: string;
  /** Aborts when the page leaves the chat. */
  signal: AbortSignal;
}

/**
 * The browser tools of the page, by their names. What one returns is the result of the call; what it throws, its failure.
 * The types come from the agent's tools, if the chat knows them.
 */
export type ClientTools<UI_MESSAGE extends UIMessage = UIMessage> =
  UI_MESSAGE extends UIMessage<infer _Metadata, infer _Data, infer Tools>
    ? string extends keyof Tools
      ? AnyTools
      : {
          readonly [Name in keyof Tools]?: (
            input: Tools[Name]["input"],
            context: ClientToolContext,
          ) => Returned<Tools[Name]["output"]> | Promise<Returned<Tools[Name]["output"]>>;
        }
    : AnyTools;

/** The page gets a text, a number or a list as `{ result }`. */
type Returned<Output> = Output | (Output extends { result?: infer Result } ? Result : never);

type AnyTools = Readonly<Record<string, (input: never, context: ClientToolContext) => unknown>>;

/**
 * The calls that run in this page, and those that ran: their result was delivered, or their chat was not left. The same chat
 * can be in several places of the page, and the outcome comes to one of them after the other.
 */
const started = new Set<string>();

/**
 * Runs the agent's browser tools in this page: free calls when they come, gated ones after the server has recorded the yes,
 * and then only in the tab where the yes was given. One tab runs a call, and its result is sent once.
 */
export function useClientTools<UI_MESSAGE extends UIMessage>(
  { chat, messages }: { chat: AgentChat<UI_MESSAGE>; messages: readonly UIMessage[] },
  tools: ClientTools<UI_MESSAGE>,
): void {
  const latest = useRef<AnyTools>(tools);
  useEffect(() => {
    latest.current = tools;
  });
  const left = useRef<AbortController>(undefined);
  useEffect(() => {
    const controller = new AbortController();
    left.current = controller;
    return () => controller.abort();
  }, [chat]);

  const { approvals } = chat;
  useEffect(() => {
    const signal = left.current?.signal;
    for (const { approvalId, answer, decidedElsewhere } of approvals.list())
      if (answer?.approved && !decidedElsewhere) rememberYes(approvalId);
    if (!signal || document.hidden || !approvals.sync.isLoaded) return;
    const isMine = (name: string) => Object.hasOwn(latest.current, name);
    const find = (shown: readonly UIMessage[]) =>
      callsToRun(shown, { approvals, isMine, saidYesHere, isArriving: approvals.isArriving });
    const run = async ({ toolCallId, toolName, input }: ClientCall) => {
      const tool = latest.current[toolName];
      // What was drawn may be older than the chat: a question may have come for the call, or another outcome.
      const isCurrent = find(chat.messages).some((call) => call.toolCallId === toolCallId);
      if (!tool || !isCurrent || signal.aborted || started.has(toolCallId)) return;
      started.add(toolCallId);
      const forget = () => void started.delete(toolCallId);
      signal.addEventListener("abort", forget);
      let result: unknown;
      try {
        result = await tool(input as never, { toolCallId, signal });
      } catch (error) {
        result = { error: error instanceof Error ? error.message : String(error) };
      }
      if (signal.aborted) return;
      // From here on the call has run, also if the page leaves the chat before the server has answered.
      signal.removeEventListener("abort", forget);
      if (await deliverResult(chat, { toolCallId, result }, signal)) return;
      if (signal.aborted) forget();
      else signal.addEventListener("abort", forget);
    };
    for (const call of find(messages)) void whileClaimed(call.toolCallId, () => run(call), signal);
  }, [chat, approvals, messages, approvals.version]);
}
