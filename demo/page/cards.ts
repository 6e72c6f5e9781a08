import type { LocalText } from "adk-stream-protocol/protocol";
import { getToolName, isToolUIPart, type UIMessage } from "ai";
import { cardState, type CardFacts, type CardState } from "./card-state.ts";
import { isClientTool } from "./client-tools.ts";

export interface Card {
  approvalId: string;
  toolName: string;
  /** What the card calls the call. */
  title: LocalText;
  state: CardState;
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
    const state = cardState({
      partState: part.state,
      data: data.get(approvalId),
      row: rows.get(approvalId),
      clientSide: isClientTool(toolName),
      delivering,
      runningHere: running.has(part.toolCallId),
    });
    const title = (rows.get(approvalId) ?? data.get(approvalId))?.card?.title ?? toolName;
    cards.set(approvalId, { approvalId, toolName, title, state });
  }
  return cards;
}
