import type { LocalText } from "adk-stream-protocol/protocol";
import type { ApprovalInfo, CardState } from "adk-stream-protocol/client";
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
  /** The answers that were given in this page, by approval id. */
  given?: ReadonlyMap<string, { approved: boolean }>;
  data: ReadonlyMap<string, NonNullable<CardFacts["data"]>>;
  rows: ReadonlyMap<string, NonNullable<CardFacts["row"]>>;
  running: ReadonlySet<string>;
};

/** Every approval card of the conversation with the state it shows, by approval id. */
export function cardsOf(messages: readonly UIMessage[], facts: Facts): Map<string, Card> {
  const { data, rows, running, delivering, given } = facts;
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
      ...(hasLost(given?.get(approvalId), state) && { decidedElsewhere: true }),
      ...(said.approved !== undefined && {
        answer: { approved: said.approved, ...(reason !== undefined && { reason }) },
      }),
    });
  }
  return cards;
}

const undecided: ReadonlySet<CardState> = new Set(["asked", "sending", "unsent", "expired", "cancelled"]);

/** Whether another decision than the answer given here counted. */
function hasLost(given: { approved: boolean } | undefined, state: CardState): boolean {
  return given !== undefined && !undecided.has(state) && given.approved === (state === "denied");
}
