import type { Bridge, Logger, Reading, Reply } from "../../agent/index.ts";
import { type Confirmation, findHeld, joinTurns, messageToChunks, viewOf } from "../views/index.ts";
import { sseResponse } from "./sse-response.ts";

interface HeldOptions {
  bridge: Bridge;
  owner: string;
  confirmation: Confirmation;
  logger: Logger;
}

/** The reply to a chat request as one stream that stays open while a call waits. */
export function heldResponse(reply: Reply, chatId: string | undefined, options: HeldOptions): Response {
  const { bridge, logger, ...reader } = options;
  const view = joinTurns((isFirst) => viewOf({ bridge, ...reader, ...(isFirst && { chatId }) }));
  return sseResponse(bridge, reply, view, { logger, hold: true });
}

/** A held stream that goes on after the event that its reader has seen last, or from the start of the message. */
export async function resumedResponse(
  chat: string,
  after: number | undefined,
  { bridge, logger, ...reader }: HeldOptions,
): Promise<Response | undefined> {
  const held = await findHeld(bridge, { ...reader, chat, ...(after !== undefined && { after }) });
  if (!held) return undefined;
  const { reading, message } = held;
  const { from } = reading;
  const replay = from === "turn" ? message : undefined;
  const view = joinTurns((isFirst) => viewOf({ bridge, ...reader, ...(isFirst && { replay }) }));
  return sseResponse(bridge, reading satisfies Reading, view, {
    logger,
    hold: true,
    ...(from !== "turn" && "after" in from && { after: from.after }),
    ...(from !== "turn" && "message" in from && message && { first: firstOf(from.message) }),
  });

  function firstOf(sequence: number) {
    const parts = message ? messageToChunks(message, { knowsDecisions: false }) : [];
    return { chunks: [{ type: "start" as const, messageId: reading.turn.reply }, ...parts], sequence };
  }
}
