import type { ApprovalView } from "../protocol/approval.ts";
import type { ApprovalAnswer } from "./chat-approvals.ts";
import { type ClockOptions, clockOf } from "./clock.ts";
import { ifPossible } from "./if-possible.ts";
import { newKey } from "./new-key.ts";
import { pauseWith } from "./pause.ts";
import { retryDelay } from "./retries.ts";
import { approvalPath, mayPass, refusalOf, type ServerRequests } from "./server-requests.ts";

/** An answer that was given in this page, and what is kept of it for the next load. */
export interface SentAnswer extends ApprovalAnswer {
  approvalId: string;
  /** The same with every attempt, so that the server records one decision. */
  key: string;
  /** When a person gave it, or wanted it to be sent again. */
  at: number;
  /** Why it could not be delivered. It is not sent again before a person says so. */
  problem?: string;
  /** How the approval stands, once the server has recorded a decision. */
  decided?: ApprovalView;
  /** True if another decision counts. */
  decidedElsewhere?: boolean;
}

export interface OutboxOptions extends ClockOptions {
  /** Where the server's routes are: an answer is sent to the server that asked. */
  api?: string | undefined;
  /**
   * Who is signed in, by any name. An answer that was not delivered is not sent for another person who signs in later in the
   * same tab. Default: not known. Then remove what `sessionStorage` has when a person signs out.
   */
  actor?: string | undefined;
  /** Keeps answers that were not delivered when the page is loaded again. Default: the tab's `sessionStorage`. */
  storage?: Pick<Storage, "getItem" | "setItem" | "removeItem"> | undefined;
  /** How often the server may reply without settling one answer before a person has to say that it shall be sent again. Default 12. */
  maxAttempts?: number | undefined;
  /** After how long an answer is no longer sent by itself, because the person may have changed their mind. Default 10 min. */
  maxAgeMs?: number | undefined;
}

interface Entry {
  answer: SentAnswer;
  /** While it is being delivered: resolves when the server has recorded a decision, rejects with the problem. */
  delivery?: Promise<void> | undefined;
  /** Between two attempts. */
  pause: ReturnType<typeof pauseWith>;
  /** Ends the pause, if the last attempt had no reply. */
  wake?: (() => void) | undefined;
}

/** A server that asks for more time than this is asked before it. */
const longestWaitMs = 60_000;

/**
 * Delivers answers to the server. An answer counts only when the server has acknowledged it: until then it is kept, also
 * when the page is loaded again, and sent again with the same key after a cut or a failed request. `onChange` is called when
 * an answer has changed; if it was decided, what follows from that is awaited before `send` resolves.
 */
export function approvalOutbox(
  options: OutboxOptions,
  server: Pick<ServerRequests, "json">,
  chatId: string | undefined,
  onChange: (answer: SentAnswer) => Promise<void> | void,
) {
  const { api, actor, maxAttempts = 12, maxAgeMs = 600_000 } = options;
  const { now, random, timers } = clockOf(options);
  const storage = "storage" in options ? options.storage : ifPossible(() => globalThis.sessionStorage);
  /** Answers for another chat, server or person are not those of this outbox. */
  const name = `adk-stream-protocol:answers:${JSON.stringify([chatId, api, actor])}`;
  const entries = new Map<string, Entry>();
  let isClosed = false;

  const kept = () =>
    ifPossible(() => JSON.parse(storage?.getItem(name) ?? "{}") as Record<string, SentAnswer> | null) ?? {};

  const add = (answer: SentAnswer): Entry => {
    const entry = { answer, pause: pauseWith(timers) };
    entries.set(answer.approvalId, entry);
    return entry;
  };

  const change = (entry: Entry, changed: { [Key in keyof SentAnswer]?: SentAnswer[Key] | undefined }) => {
    const answer = (entry.answer = { ...entry.answer, ...changed });
    const isOver = answer.decided || answer.problem !== undefined;
    const left = JSON.stringify({ ...kept(), [answer.approvalId]: isOver ? undefined : answer });
    // If the browser forbids storage or has no room, the answer lasts as long as the page.
    ifPossible(() => (left === "{}" ? storage?.removeItem(name) : storage?.setItem(name, left)));
    return onChange(answer);
  };

  /** One attempt after the other. Rejects with the problem. */
  async function attempt(entry: Entry): Promise<void> {
    const { approvalId, approved, reason, key, at } = entry.answer;
    // Without a connection there is no loop, so the answer goes on until it is too old: only replies are counted.
    for (let attempts = 1, replies = 0; ; attempts += 1) {
      if (now() - at > maxAgeMs) throw new Error("This answer is too old. Answer again.");
      const reply = await server
        .json<{ approval?: ApprovalView }>(approvalPath(approvalId), { body: { approved, key, reason } })
        .catch(() => undefined);
      if (reply) {
        const { approval } = reply.body;
        if (approval) return change(entry, { decided: approval, decidedElsewhere: reply.status === 409 });
        if (!mayPass(reply)) throw refusalOf(reply);
        replies += 1;
        if (replies >= maxAttempts)
          throw new Error(`The answer was sent ${replies} times without a reply that settles it.`);
      }
      const asked = Math.min((reply?.retryAfter ?? 0) * 1000, longestWaitMs);
      const delay = Math.max(retryDelay(attempts, random), asked);
      entry.wake = reply ? undefined : entry.pause.end;
      // After `close`, the next `open` goes on.
      do await entry.pause.begin(isClosed ? undefined : delay);
      // oxlint-disable-next-line no-unmodified-loop-condition -- `open` and `close` modify it
      while (isClosed);
    }
  }

  /** Not every delivery is awaited: the answer says why it failed. */
  const deliver = (entry: Entry): Promise<void> => {
    const failed = (problem: Error) => {
      void change(entry, { problem: problem.message });
      throw problem;
    };
    const delivery = (entry.delivery ??= attempt(entry)
      .catch(failed)
      .finally(() => (entry.delivery = undefined)));
    delivery.catch(() => undefined);
    return delivery;
  };

  return {
    get: (approvalId: string): SentAnswer | undefined => entries.get(approvalId)?.answer,

    /**
     * Sends an answer that a person has given, or wants to be sent again. The second click on a card joins the first; another
     * answer counts only if the first was not delivered.
     */
    async send(this: void, approvalId: string, { approved, reason }: ApprovalAnswer): Promise<void> {
      let entry = entries.get(approvalId);
      const before = entry?.answer;
      if (before?.decided) return;
      if (!entry || (before?.problem !== undefined && before.approved !== approved))
        entry = add({ approvalId, approved, reason, key: newKey(), at: 0 });
      if (!entry.delivery) void change(entry, { problem: undefined, at: now() });
      await deliver(entry);
    },

    /** The server can be reached: answers that did not get there are sent now. */
    wake(): void {
      for (const entry of entries.values()) entry.wake?.();
    },

    /** Sends what an earlier load of this page has left, and what was not delivered before `close`. */
    open(): void {
      isClosed = false;
      for (const { pause } of entries.values()) pause.end();
      for (const answer of Object.values(kept()))
        if (answer?.key && !entries.has(answer.approvalId)) void deliver(add(answer));
    },

    close(): void {
      isClosed = true;
      for (const { pause } of entries.values()) pause.end();
    },
  };
}
