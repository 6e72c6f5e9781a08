import type { BaseAgent, BaseTool, Event, Session as AdkSession } from "@google/adk";
import type { Content } from "@google/genai";
import type { Approval } from "../../stores/index.ts";

/**
 * What the gate knows of the ADK run that a call belongs to, and what it asks of that run. A conversation makes one and
 * enters the gate with it before the run begins.
 */
export interface RunScope {
  readonly chat: string;
  readonly owner: string;
  /** The mode that the run's calls are recorded with. */
  readonly mode: Approval["mode"];
  /**
   * What becomes of the results of other calls in a step with a held call. `keep`: they wait with the event until the
   * whole step is settled. `send`: the live model gets them at once.
   */
  readonly freeResults: "keep" | "send";
  /** The actor whose message the run's calls come from. */
  actor(): string;
  /** The assistant message that shows the run's calls now. */
  messageId(): string;
  /** True while no request or decision of a person has caused what the run does. Then few questions may be asked. */
  isUnattended(): boolean;
  /** True when the run's calls must be refused, because no turn shows them any more. */
  refusesCalls(): boolean;
  /** True when another node, or the next process, goes on with the run's turn as after a crash. The error may say so. */
  isLeft(error?: unknown): boolean;
  /** The run has begun with this session object. */
  onBegin(session: AdkSession): void;
  /** Comes before a complete event is stored. What the history has must be in the log first, or a crash would lose it. */
  beforeEvent(event: Event): Promise<void>;
  /** Comes before each request to the model. A returned sentence refuses the request. */
  beforeRequest(): string | undefined;
  /** Shows the input of a call again, because it differs from what was shown with the call. */
  showInput(call: { toolCallId: string; toolName: string; input: Record<string, unknown> }): Promise<void>;
  /** Shows the question about a held call. */
  showQuestion(approval: Approval): Promise<void>;
  /**
   * Runs a call that no one is asked about, and that needs a row: of an agent, or of a tool with a report or a time limit.
   * Returns its result, or undefined while the call has no result.
   */
  runHeld(approval: Approval): Promise<HeldResult | undefined>;
  /** Puts the content of files and large outputs back into what the model gets. Changes the array only. */
  fillIn(contents: Content[]): Promise<void>;
  /** Counts usage that is in no event of the run. */
  countUsage(event: Event): void;
}

/** The result of a held call that ran at once. */
export interface HeldResult {
  response: Record<string, unknown>;
  stateDelta: Record<string, unknown>;
  /** What else the tool asked ADK to do, see `ToolActions`. */
  actions: Record<string, unknown>;
  /** Calls whose outcome will be told later: the call itself if it has only begun, or calls of an agent. */
  unknown: readonly string[];
}

/** A call that is to be held, as the ledger needs it. */
export interface HeldCall {
  toolCallId: string;
  toolName: string;
  /** The arguments as the tool will get them, as JSON. */
  args: Record<string, unknown>;
  /** The arguments as the model sent them. */
  rawArgs: Record<string, unknown>;
  /** The names of the arguments in the order of the tool's declaration. */
  declared: readonly string[];
  session: string;
  agent: string;
  branch?: string;
  /** A hash of the tool's declaration, see `toolHash`. */
  toolHash?: string;
  /** True when a person is asked; false for a call that only waits for a result from outside. */
  gated: boolean;
  /** True when the server's executor does not run the call: a browser does, or the turn runs an agent. */
  external: boolean;
  /** True when the result is reported after the call has begun: by a browser, or for a long-running tool. */
  isReported: boolean;
  hint?: string;
  payload?: unknown;
  innerSession?: string;
  /** True when the tool has run and asked for approval itself. It has the key of the call already. */
  hasRun?: boolean;
}

/** A call that policies judge. */
export interface JudgedCall {
  tool: BaseTool;
  /** The agent that makes the call. */
  agent: BaseAgent | undefined;
  /** The arguments as the tool will get them. */
  args(): Record<string, unknown>;
  /** The state of the session. */
  state(): Record<string, unknown>;
}

/** What is told about a call that has ended without an outcome. */
export interface Released {
  /** What the calls of an agent have done, for the response. */
  done: Record<string, unknown>;
  /** Calls of the agent whose outcome is told later. */
  unknown: readonly string[];
}

/** Decides which calls are held, and records them. Implemented in `approval/`. */
export interface CallHolder {
  /** How many calls of one model response are run or held. */
  readonly callsPerResponse: number;
  /** True when the server's own policies want a person to approve the call. */
  policyWantsApproval(call: JudgedCall, run: Pick<RunScope, "owner" | "actor">): Promise<boolean>;
  /** True when the server's own policy for this tool limits its time. */
  hasTimeLimit(toolName: string): boolean;
  /**
   * Creates the row of a held call, or finds the one that exists for this very call. `refuseStopped` throws if the turn was
   * stopped meanwhile: an edit has read the rows by then, and would not know of a new one. Throws `HoldUnknown` if the store
   * failed and there may be a row.
   */
  hold(call: HeldCall, run: RunScope, refuseStopped: () => void): Promise<Approval>;
  /** Ids of the session's calls in the ledger, including calls that are no longer in the history. */
  callIds(session: string): Promise<string[]>;
  /**
   * Cancels a call that could not be shown, unless `isLeft`. Returns what the model is told about a call that has not run
   * and never will; otherwise undefined, and the row says what the model is told.
   */
  release(approval: Approval, isLeft: () => boolean): Promise<Released | undefined>;
}
