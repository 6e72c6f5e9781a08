import type { Chat } from "@ai-sdk/react";
import type { ChatStatus, UIMessage } from "ai";
import { useEffect, useRef, type Dispatch, type RefObject, type SetStateAction } from "react";
import { claimCall, saidYesHere } from "./claim-call.ts";
import { callsToRun, isOpenCall, type ChatFacts, type ClientCall } from "./client-tools.ts";
import type { Music } from "./music.ts";
import { runClientTool } from "./run-client-tool.ts";

export interface ClientToolsOptions {
  chat: Chat<UIMessage>;
  chatMessages: UIMessage[];
  status: ChatStatus;
  readFacts: () => ChatFacts;
  approvals: ChatFacts["rows"];
  /** When the ledger was last requested. A new ledger may allow a call to run. */
  askedAt: number;
  music: Music;
  setRunning: Dispatch<SetStateAction<ReadonlySet<string>>>;
  /** The calls that ran in this page are added here. */
  ranHere: RefObject<Set<string>>;
}

/** Runs the browser tools that wait for this page, and puts their results into the chat's messages. */
export function useClientTools(options: ClientToolsOptions): void {
  const { chat, chatMessages, status, readFacts, approvals, askedAt, music, setRunning, ranHere } = options;
  const started = useRef(new Set<string>());
  const latestApprovals = useRef(approvals);
  useEffect(() => {
    latestApprovals.current = approvals;
  }, [approvals]);

  useEffect(() => {
    if (chat.status !== "ready" || document.hidden) return;
    const run = async (call: ClientCall) => {
      started.current.add(call.toolCallId);
      if (!(await claimCall(call.toolCallId))) {
        started.current.delete(call.toolCallId);
        return;
      }
      setRunning((before) => new Set(before).add(call.toolCallId));
      const result = await runClientTool(call, music);
      if (isOpenCall({ messages: chat.messages, rows: latestApprovals.current }, call.toolCallId)) {
        ranHere.current.add(call.toolCallId);
        const target = { tool: call.toolName as never, toolCallId: call.toolCallId };
        await chat.addToolOutput(
          "output" in result
            ? { ...target, output: result.output as never }
            : { ...target, state: "output-error", errorText: result.errorText },
        );
      }
      setRunning((before) => new Set([...before].filter((id) => id !== call.toolCallId)));
    };
    for (const call of callsToRun(readFacts(), started.current, saidYesHere)) void run(call);
  }, [chat, readFacts, chatMessages, status, music, askedAt, setRunning, ranHere]);
}
