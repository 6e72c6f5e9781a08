import type { UIMessage } from "ai";
import { useEffect, useRef } from "react";
import type { AgentChat } from "./agent-chat.ts";
import { claimCall, rememberYes, saidYesHere } from "./claim-call.ts";
import { type ClientCall, callsToRun } from "./calls-to-run.ts";
import { deliverResult } from "./deliver-result.ts";

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
          ) => Tools[Name]["output"] | Promise<Tools[Name]["output"]>;
        }
    : AnyTools;

type AnyTools = Readonly<Record<string, (input: never, context: ClientToolContext) => unknown>>;

/**
 * Runs the agent's browser tools in this page: free calls when they come, gated ones after the server has recorded the yes,
 * and then only in the tab where the yes was given. One tab runs a call, and its result is sent once.
 */
export function useClientTools<UI_MESSAGE extends UIMessage>(
  { chat, messages }: { chat: AgentChat<UI_MESSAGE>; messages: readonly UIMessage[] },
  tools: ClientTools<UI_MESSAGE>,
): void {
  const started = useRef(new Set<string>());
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
    const run = async ({ toolCallId, toolName, input }: ClientCall) => {
      started.current.add(toolCallId);
      if (!(await claimCall(toolCallId))) return void started.current.delete(toolCallId);
      const tool = latest.current[toolName];
      if (!tool || signal.aborted) return;
      let result: unknown;
      try {
        result = (await tool(input as never, { toolCallId, signal })) ?? null;
      } catch (error) {
        result = { error: error instanceof Error ? error.message : String(error) };
      }
      await deliverResult(chat, { toolCallId, result }, signal);
    };
    const isMine = (name: string) => Object.hasOwn(latest.current, name);
    for (const call of callsToRun(messages, { approvals, isMine, saidYesHere, isArriving: approvals.isArriving }))
      if (!started.current.has(call.toolCallId)) void run(call);
  }, [chat, approvals, messages, approvals.version]);
}
