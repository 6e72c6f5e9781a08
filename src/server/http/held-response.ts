import type { UIMessage } from "ai";
import { type Bridge, type Logger, type Reading, type Reply, ReplyMoved } from "../../agent/index.ts";
import {
  type Confirmation,
  confirmationsIn,
  findHeld,
  joinTurns,
  messagesInDialect,
  messageToChunks,
  type View,
  viewOf,
} from "../views/index.ts";
import { guard, type GuardOptions } from "./guard.ts";
import type { Call } from "./route.ts";
import { sseResponse } from "./sse-response.ts";

interface HeldOptions {
  bridge: Bridge;
  owner: string;
  confirmation: Confirmation;
  logger: Logger;
  /** Whether the reader is still who it was when the stream began. */
  isKnown: () => Promise<boolean>;
}

/** Asks again who sends the request of a stream. An error counts as a no: the reader gets it when it resumes. */
export function askAgain({ request, identity }: Call, options: GuardOptions): () => Promise<boolean> {
  // Without the body, which has been read.
  const { url, method, headers } = request;
  const again = new Request(url, { method, headers });
  return async () => {
    const { owner, actor } = await guard(again, options, "read").catch(() => ({ owner: undefined, actor: undefined }));
    return owner === identity.owner && actor === identity.actor;
  };
}

/** The reply to a chat request as one stream that stays open while a call waits. */
export async function heldResponse(
  reply: Reply & { chatName: string },
  chatId: string | undefined,
  options: HeldOptions,
): Promise<Response> {
  const { bridge, logger, isKnown, ...reader } = options;
  const asked = await askedBefore(reply, options);
  const view = joinTurns((isFirst) => viewOf({ bridge, ...reader, asked, ...(isFirst && { chatId }) }));
  return sseResponse(bridge, reply, whileKnown(view, isKnown), { logger, hold: true });
}

/** A held stream that goes on after the event that its reader has seen last, or from the start of the message. */
export async function resumedResponse(
  chat: string,
  after: number | undefined,
  { bridge, logger, isKnown, ...reader }: HeldOptions,
): Promise<Response | undefined> {
  const held = await findHeld(bridge, { ...reader, chat, ...(after !== undefined && { after }) });
  if (!held) return undefined;
  const { reading, message } = held;
  const { from } = reading;
  const replay = from === "turn" ? message : undefined;
  const asked = confirmationsOf(message);
  const view = joinTurns((isFirst) => viewOf({ bridge, ...reader, asked, ...(isFirst && { replay }) }));
  return sseResponse(bridge, reading satisfies Reading, whileKnown(view, isKnown), {
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

/** The confirmations of the message that a reply continues. */
async function askedBefore(
  reply: Reply & { chatName: string },
  { bridge, owner, confirmation }: HeldOptions,
): Promise<Set<string>> {
  if (confirmation === "approval" || !("turn" in reply)) return new Set();
  const found = await bridge.message(owner, reply.chatName, reply.turn.reply);
  return confirmationsOf(found && messagesInDialect([found.message], confirmation, found.approvals)[0]);
}

/** The confirmations of a message. One that has its outcome may be given it again, which changes nothing. */
function confirmationsOf(message: UIMessage | undefined): Set<string> {
  return new Set(message && confirmationsIn(message));
}

/** The same view. What comes after a pause may come hours later, so the stream is cut if its reader was signed out. */
function whileKnown(view: View, isKnown: () => Promise<boolean>): View {
  let hasBegun = false;
  return async (chunk) => {
    if (chunk.type === "start" && hasBegun && !(await isKnown())) throw new ReplyMoved();
    hasBegun = true;
    return view(chunk);
  };
}
