import type { CardField, LocalText } from "adk-stream-protocol/protocol";
import { getToolName, isToolUIPart, type UIMessage } from "ai";
import { cardState, type CardFacts, type CardState } from "./card-state.ts";
import { isClientTool } from "./client-tools.ts";

export interface Card {
  approvalId: string;
  toolName: string;
  /** What the card calls the call. */
  title: LocalText;
  /** The arguments, and how the card shows them. */
  input: unknown;
  fields: Readonly<Record<string, CardField>> | undefined;
  state: CardState;
  /** The server has described the call. Until then the card knows only the tool and what the model sent. */
  isDescribed: boolean;
  /** When the question expires, by the server's clock. */
  expiresAt: number | undefined;
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
    const row = rows.get(approvalId);
    const reported = row ?? data.get(approvalId);
    const state = cardState({
      partState: part.state,
      data: data.get(approvalId),
      row,
      clientSide: isClientTool(toolName),
      delivering,
      runningHere: running.has(part.toolCallId),
    });
    cards.set(approvalId, {
      approvalId,
      toolName,
      title: reported?.card?.title ?? toolName,
      input: row?.input ?? part.input,
      fields: reported?.card?.fields,
      state,
      isDescribed: reported !== undefined,
      expiresAt: reported?.expiresAt,
    });
  }
  return cards;
}
