import type { LocalText } from "adk-stream-protocol/protocol";
import type { ApprovalInfo } from "adk-stream-protocol/client";
import { getToolName, isToolUIPart, type UIMessage } from "ai";
import { cardState, type CardFacts } from "./card-state.ts";
import { isClientTool } from "./client-tools.ts";

/** What a card of this page shows. */
export interface Card extends ApprovalInfo {
  /** What the card calls the call. */
  title: LocalText;
  /** The server has described the call. Until then the card knows only the tool and what the model sent. */
  isDescribed: boolean;
}

type Facts = Omit<CardFacts, "partState" | "clientSide" | "runningHere" | "data" | "row"> & {
  data: ReadonlyMap<string, NonNullable<CardFacts["data"]>>;
  rows: ReadonlyMap<string, NonNullable<CardFacts["row"]>>;
  running: ReadonlySet<string>;
};

/** Every approval card of the conversation with the state it shows, by approval id. */
export function cardsOf(messages: readonly UIMessage[], { data, rows, running, delivering }: Facts): Map<string, Card> {
  const cards = new Map<string, Card>();
  for (const part of messages.flatMap((message) => message.parts)) {
    if (!isToolUIPart(part) || !part.approval) continue;
    const toolName = getToolName(part);
    const approvalId = part.approval.id;
    const [row, ofChat] = [rows.get(approvalId), data.get(approvalId)];
    const reported = row ?? ofChat;
    const state = cardState({
      partState: part.state,
      data: ofChat,
      row,
      clientSide: isClientTool(toolName),
      delivering,
      runningHere: running.has(part.toolCallId),
    });
    const said = part.approval as { approved?: boolean; reason?: string; descriptor?: { hint?: unknown } };
    // AI SDK's part gives a withdrawn call a reason that says only that it was withdrawn.
    const reason = reported?.reason ?? ofChat?.reason ?? (state === "cancelled" ? undefined : said.reason);
    const hint = row?.hint ?? said.descriptor?.hint;
    cards.set(approvalId, {
      ...ofChat,
      ...row,
      approvalId,
      toolCallId: part.toolCallId,
      toolName,
      title: reported?.card?.title ?? toolName,
      input: row?.input ?? part.input,
      state,
      isDescribed: reported !== undefined,
      output: row?.output ?? ofChat?.output ?? part.output,
      ...((reported?.errorText ?? part.errorText) !== undefined && {
        errorText: reported?.errorText ?? part.errorText,
      }),
      ...(typeof hint === "string" && { hint }),
      ...(reason !== undefined && { reason }),
      ...(said.approved !== undefined && {
        answer: { approved: said.approved, ...(reason !== undefined && { reason }) },
      }),
    });
  }
  return cards;
}
