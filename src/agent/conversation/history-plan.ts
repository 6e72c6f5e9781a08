import type { Part } from "@google/genai";
import type { JsonObject } from "../../stores/index.ts";
import type { CallResponse, Note } from "../adk/new-events.ts";
import type { ToolActions } from "../adk/tool-actions.ts";

/** What `planHistory` returns: what has to be appended to the history, sent to the model and marked as told. */
export interface HistoryPlan {
  /** What to append to the history, in this order. */
  records: readonly HistoryRecord[];
  /** The message of the next request: the responses of the whole open step (P2). */
  request?: {
    parts: Part[];
    author: string;
    stateDelta: JsonObject;
    tells: string[];
    /** Calls of agents whose outcome must be told later. */
    unknown: string[];
  };
  /** The step was recorded in place, because its tools asked for more than a response. It goes on as they asked. */
  resume?: { author: string; actions: ToolActions };
  /** `ask`: the model has something to respond to. `wait`: its step is not settled. `rest`: there is nothing to tell it. */
  next: "ask" | "wait" | "rest";
}

/** One entry of the plan. If its response turns out to be in the history already, the whole entry is skipped. */
export interface HistoryRecord {
  /** The response to an open call, appended in the name of its agent. */
  response?: CallResponse;
  /** The response for a live model that waits for it. */
  send?: Part;
  /** A note to the model. Its id is derived from what it is about, so it is written once. */
  note?: Note;
  /** Rows that the model knows about afterwards. */
  tells: readonly string[];
}
