import type { UIMessage } from "ai";
import type { Bridge, Reply } from "../../agent/index.ts";

/** How many requests are remembered. */
const maxRequests = 1000;

/** Where a turn is in the log, running or not. */
export interface TurnPlace {
  id: string;
  /** Its entries come after this sequence number. */
  after: number;
  /** Settles when the turn is over, if it is known to run. */
  done?: Promise<unknown>;
}

/**
 * Finds the turns of messages that a client sends again because it does not know whether they arrived. Once the turn of
 * a message has begun, the log has it; until then it is kept here.
 */
export class SentMessages {
  readonly #bridge: Pick<Bridge, "approvals" | "follow">;
  /** By message. */
  readonly #beginning = new Map<string, Promise<Reply>>();
  /** By request. */
  readonly #requests = new Map<string, Promise<Reply>>();

  constructor(bridge: Pick<Bridge, "approvals" | "follow">) {
    this.#bridge = bridge;
  }

  /** Submits a message, and remembers it until its turn is over. */
  send(message: SentMessage, submit: () => Promise<Reply>): Promise<Reply> {
    const key = keyOf(message);
    const replying = submit();
    this.#beginning.set(key, replying);
    const forget = () => {
      if (this.#beginning.get(key) === replying) this.#beginning.delete(key);
    };
    replying.then((reply) => ("turn" in reply ? reply.turn.done : undefined)).then(forget, forget);
    return replying;
  }

  /** The turn that the message caused when it first arrived. If it never did, it is submitted now. */
  async sendAgain(message: SentMessage, submit: () => Promise<Reply>): Promise<Reply | { turn: TurnPlace }> {
    const key = keyOf(message);
    const found = this.#beginning.get(key) ?? (await this.#find(message));
    // While the log was read, the message may have arrived on another socket.
    return found ?? this.#beginning.get(key) ?? this.send(message, submit);
  }

  /** Submits a request of a chat once, however often it is sent. For requests without a new message. */
  async once(
    { owner, chat, requestId }: { owner: string; chat: string; requestId: string | undefined },
    submit: () => Promise<Reply>,
  ): Promise<Reply> {
    if (requestId === undefined) return submit();
    const key = JSON.stringify([owner, chat, requestId]);
    const known = this.#requests.get(key);
    if (known) return known;
    const replying = submit();
    this.#requests.set(key, replying);
    replying.catch(() => this.#requests.delete(key));
    const [oldest] = this.#requests.keys();
    if (this.#requests.size > maxRequests && oldest !== undefined) this.#requests.delete(oldest);
    return replying;
  }

  /** The last turn of this message in the log. The user may have edited the message since an earlier one. */
  async #find({ owner, chat, id, parts }: SentMessage): Promise<{ turn: TurnPlace } | undefined> {
    const { sequence } = await this.#bridge.approvals(owner, { chat });
    if (sequence === 0) return undefined;
    const reader = new AbortController();
    const wanted = JSON.stringify(parts);
    let found: { turn: TurnPlace } | undefined;
    for await (const entries of await this.#bridge.follow(owner, chat, { after: 0, signal: reader.signal })) {
      for (const entry of entries)
        if (entry.kind === "begin" && entry.message?.id === id)
          found =
            wanted === undefined || JSON.stringify(entry.message.parts) === wanted
              ? { turn: { id: entry.turn, after: entry.sequence - 1 } }
              : undefined;
      if ((entries.at(-1)?.sequence ?? 0) >= sequence) return found;
    }
    return found;
  }
}

interface SentMessage {
  owner: string;
  chat: string;
  id: string;
  /** What it says. An edited message has the same id. */
  parts?: UIMessage["parts"];
}

function keyOf({ owner, chat, id, parts }: SentMessage): string {
  return JSON.stringify([owner, chat, id, parts]);
}
