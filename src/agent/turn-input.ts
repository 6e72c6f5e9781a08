import type { UIMessage, UIMessageChunk } from "ai";
import type { Approval, Session } from "../stores/index.ts";

/** How the model is talked to: one request at a time, or over a live connection. */
export type Mode = Approval["mode"];

/**
 * A turn: what the agent does for one input. It belongs to the chat, not to a connection, and writes chunks to the chat's
 * log. Clients read the log.
 */
export interface Turn {
  id: string;
  chat: Session;
  /** The assistant message this turn writes to. A continuation repeats the id of the message it continues. */
  reply: string;
  input: TurnInput;
  mode: Mode;
  /** Whose message the turn comes from. A continuation has the actor of the message that began the turn it continues. */
  actor: string;
  /** The first chunks of the turn, if the log has them already. */
  begun?: readonly UIMessageChunk[] | undefined;
  signal: AbortSignal;
}

export type TurnInput =
  | { kind: "message"; message: UIMessage; /** False when the log shows the message already. */ record: boolean }
  | {
      kind: "settled";
      /** The rows that were answered, expired or recovered. Approved ones run in this turn, unless they run already. */
      approvals: readonly string[];
      /** What the client that sent the answers has in its own copy of each call; absent when no client sent any. */
      answered?: ReadonlyMap<string, boolean>;
      /** `false` shows the outcomes without asking the model; `"again"` also repeats a model call that a crash cut off. */
      model: boolean | "again";
      /** No request or decision of a person has caused the turn. */
      unattended?: true;
    }
  /** The reply is made again, and some of its calls have stayed: the model goes on with the history as it is. */
  | { kind: "again" }
  /** The model of a live connection spoke unasked. */
  | { kind: "speech" };

/**
 * The reason to stop a turn because its server stops, or because another node has taken the chat. The turn stays open in
 * the log, and the next node to take the chat continues it as after a crash.
 */
export const continuesElsewhere = new Error("The server is stopping.");
