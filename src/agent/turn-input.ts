import type { UIMessage } from "ai";
import type { Session } from "../stores/index.ts";
import type { Gate } from "./gate.ts";
import type { HistoryTools } from "./heal.ts";
import type { Logger } from "./logger.ts";
import type { Runners } from "./runners.ts";

/**
 * A turn: what the agent does for one input, a message or the settling of calls it had asked about. It belongs to the
 * chat and not to a connection, and writes chunks to the chat's log; whoever wants to see them reads the log.
 */
export interface Turn {
  id: string;
  chat: Session;
  /** The assistant message this turn writes to; a continuation repeats the id of the message it continues. */
  reply: string;
  input: TurnInput;
  /** The model is talked to over the chat's live connection, and not by requests. */
  live: boolean;
  signal: AbortSignal;
}

export type TurnInput =
  | { kind: "message"; message: UIMessage; /** False where the log shows the message already. */ record: boolean }
  | {
      kind: "settled";
      /** The rows that were answered, expired or recovered. */
      approvals: readonly string[];
      /** What the client that sent the answers believes it said; absent where nobody's chat said anything. */
      answered?: ReadonlyMap<string, boolean>;
      /** `false` shows the outcomes and leaves the model alone; `"nudge"` also repeats a model call that a crash cut off. */
      model: boolean | "nudge";
    }
  /** The model of a live connection speaks unasked. */
  | { kind: "speech" };

export interface TurnTools extends HistoryTools {
  gate: Gate;
  logger: Logger;
  maxLlmCalls: number;
  modelName: string;
  agentTools: ReadonlySet<string>;
  runners: Runners;
}

/** Stops a turn because its server ends: it stays open in the log, and the next start goes on with it as after a crash. */
export const serverCloses = new Error("The server is stopping.");
