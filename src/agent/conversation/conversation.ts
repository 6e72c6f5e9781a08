import type { UIMessage } from "ai";
import type { Approval } from "../../stores/index.ts";
import type { Progress, TurnLog } from "../log/turn-log.ts";

/**
 * The talk between one turn and the model. There are two implementations: `by-request.ts` makes a new request for everything
 * that is said, `by-live-connection.ts` uses a connection that stays open between turns. A turn does not know which one it
 * has; one contract suite runs over both (test/contracts/conversation.test.ts).
 *
 * A turn says something (`say` or `deliver`), listens once, and leaves. What is shown goes to the turn's log.
 */
export interface Conversation {
  readonly modelName: string;

  /** True when the model has spoken unasked and no turn has shown it yet. Never true by request. */
  readonly hasSpeech: boolean;

  /** Gives the model a user's message. Returns the approvals that this ended. */
  say(message: UIMessage, log: TurnLog): Promise<Approval[]>;

  /**
   * Gives the model the outcomes of its calls. `ask`: its response follows, so listen. `parked`: it is not asked before
   * other calls are settled. `done`: it will not respond now, even if something was told.
   */
  deliver(log: TurnLog): Promise<"ask" | Progress>;

  /** Asks the model to go on with the history as it is: its reply is made again, and some of its calls have stayed. */
  again(log: TurnLog): Promise<"ask" | Progress>;

  /**
   * Writes outcomes that can be told now to the model's history, without asking it. A live connection does nothing: it tells
   * them with the next thing that is said.
   */
  record(): Promise<void>;

  /** Shows the model's response until it has finished, or until its calls wait for a decision or a result. */
  listen(log: TurnLog): Promise<Progress>;

  /** The turn has stopped listening. Calls that the model makes from now on are not shown in it. */
  leave(): void;

  /** The turn failed or was stopped. Keeps the user's message in the history, whether or not the model got it. */
  abandon(message: UIMessage | undefined): Promise<void>;
}
