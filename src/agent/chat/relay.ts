import { BridgeError, type ErrorCode, errorTable, type ApprovalView } from "../../protocol/index.ts";
import type { JsonObject, Posted, Store } from "../../stores/index.ts";
import { describeError, type Logger, metrics, newId } from "../support/index.ts";
import { StateConflict } from "./errors.ts";
import { ChatElsewhere } from "./ownership.ts";

export interface RelayContext {
  store: Store;
  logger: Logger;
  leaseMs: number;
}

/** A request that another node can do for this one: the name of a handler, and what it is given, as JSON. */
export interface Relayed {
  name: string;
  body: JsonObject;
}

type Handler = (body: JsonObject) => Promise<unknown>;

/** What the other node did. */
type Answer =
  | { value: unknown }
  | { refused: { code: ErrorCode; message: string; retryAfter?: number; approval?: ApprovalView } }
  /** The chat was no longer there. */
  | { moved: true };

/** How often the inbox is looked at. Notifications make it faster; they may get lost. */
const pollMs = 250;

/**
 * Has requests done by the node that has their chat. A request is posted into the chat's inbox, taken once, done there as
 * if it had come there, and answered. If that node dies, the request is done here after the chat was taken over.
 */
export class Relay {
  readonly #context: RelayContext;
  readonly #handlers = new Map<string, Handler>();
  /** Wakes those who wait for an answer. */
  readonly #waiting = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;
  #unsubscribe: () => void = () => undefined;
  #isTaking = false;
  #takesAgain = false;
  #isClosed = false;

  constructor(context: RelayContext) {
    this.#context = context;
  }

  /** Says how a request is done that another node has posted. */
  handle(name: string, handler: Handler): void {
    this.#handlers.set(name, handler);
  }

  start(): void {
    const look = () => {
      for (const wake of this.#waiting) wake();
      this.#take();
    };
    this.#unsubscribe = this.#context.store.onPosted(look);
    this.#timer = setInterval(look, pollMs);
    this.#timer.unref();
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#unsubscribe();
  }

  /**
   * Does a request here, or at the node that has its chat. If that node dies before it answers, the request is done again,
   * so it must recognise what its first attempt has done. A request that cannot be repeated gives `isDone`, which returns the
   * result of that attempt.
   */
  async run<T>(
    local: () => Promise<T>,
    {
      relayed,
      receive,
      isDone,
    }: {
      /** Makes what is posted. It is asked only when the chat is elsewhere. */
      relayed: () => Promise<Relayed>;
      /** The result from the answer's JSON. */
      receive: (value: unknown) => T | Promise<T>;
      isDone?: (chat: string) => Promise<T | undefined>;
    },
  ): Promise<T> {
    const { leaseMs } = this.#context;
    const until = performance.now() + 3 * leaseMs;
    for (;;) {
      try {
        return await local();
      } catch (error) {
        if (!(error instanceof ChatElsewhere)) throw error;
        if (performance.now() > until)
          throw new BridgeError("unavailable", "The node that has this chat does not respond. Try again in a moment.");
        metrics.inbox.posted.add(1);
        metrics.inbox.waiting.add(1);
        const answer = await relayed()
          .then((request) => this.#ask(error.chat, request))
          .finally(() => metrics.inbox.waiting.add(-1));
        if (answer && "value" in answer) return receive(answer.value);
        if (answer && "refused" in answer) throw toError(answer.refused);
        const done = answer ? undefined : await isDone?.(error.chat);
        if (done !== undefined) return done;
      }
    }
  }

  /** Posts a request and waits for its answer. Undefined: the other node does not respond, and the chat may be free now. */
  async #ask(chat: string, { name, body }: Relayed): Promise<Answer | undefined> {
    const { store, leaseMs } = this.#context;
    const id = newId("post");
    await store.post({ id, chat, body: { name, body } });
    let until = performance.now() + leaseMs;
    for (;;) {
      const woken = this.#woken();
      const found = await store.readAnswer(id);
      if (found?.answer) return found.answer as Answer;
      if (!found || this.#isClosed) return undefined;
      const node = (await store.leaseOf(chat))?.node;
      // The node may have given the chat back before the request was posted. Then no node would take it.
      if (found.takenBy === undefined && node === undefined && (await store.takeBack(id))) return { moved: true };
      // While the node that took it has the chat, the request is being done, which may take as long as it would here.
      // That node may give the chat back before it has written the answer.
      if (found.takenBy !== undefined && node === found.takenBy) until = performance.now() + leaseMs;
      if (performance.now() > until && (found.takenBy !== undefined || (await store.takeBack(id)))) return undefined;
      await woken;
    }
  }

  #woken(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => wake(), pollMs);
      const wake = () => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        resolve();
      };
      this.#waiting.add(wake);
    });
  }

  /** Does what was posted to this node. What comes meanwhile is looked for once more. */
  #take(): void {
    this.#takesAgain = true;
    if (!this.#isTaking) void this.#takeAll();
  }

  async #takeAll(): Promise<void> {
    this.#isTaking = true;
    while (this.#takesAgain && !this.#isClosed) {
      this.#takesAgain = false;
      try {
        for (const posted of await this.#context.store.takePosted()) void this.#do(posted);
      } catch (error) {
        this.#context.logger.warn("The inbox could not be read.", { error: describeError(error) });
      }
    }
    this.#isTaking = false;
  }

  async #do({ id, body: { name, body } }: Posted): Promise<void> {
    const { store, logger } = this.#context;
    try {
      await store.answerPosted(id, await this.#answer(String(name), (body ?? {}) as JsonObject));
    } catch (error) {
      logger.warn("A request of another node could not be answered.", { error: describeError(error) });
    }
  }

  async #answer(name: string, body: JsonObject): Promise<Answer> {
    const handler = this.#handlers.get(name);
    // A newer release may post what this one does not know. It can do it itself when it has the chat.
    if (!handler) return { refused: { code: "unavailable", message: `This node cannot do ${name}.` } };
    try {
      return { value: await handler(body) };
    } catch (error) {
      if (error instanceof ChatElsewhere) return { moved: true };
      if (!(error instanceof BridgeError)) {
        this.#context.logger.error("A request of another node failed.", { name, error: describeError(error) });
        return { refused: { code: "internal", message: "Something went wrong on the server." } };
      }
      const { code, message, retryAfter } = error;
      // This node stops, and gives its chats back. The one that asked, which does not stop, can do the request then.
      if (this.#isClosed && code === "unavailable") return { moved: true };
      return {
        refused: {
          ...{ code, message },
          ...(retryAfter !== undefined && { retryAfter }),
          ...(error instanceof StateConflict && { approval: error.approval }),
        },
      };
    }
  }
}

function toError({ code, message, retryAfter, approval }: Extract<Answer, { refused: object }>["refused"]): Error {
  if (approval) return new StateConflict(message, approval);
  return new BridgeError(code in errorTable ? code : "internal", message, { retryAfter });
}
