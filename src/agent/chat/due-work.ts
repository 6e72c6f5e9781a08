import type { UIMessage } from "ai";
import { isNotFound, isSettled } from "../../protocol/index.ts";
import type { Approval, Store } from "../../stores/index.ts";
import type { Executor, UnseenQuestions } from "../approval/index.ts";
import type { Conversations } from "../conversation/index.ts";
import { atMost, describeError, type Logger, Slots, within, yieldEvery } from "../support/index.ts";
import type { QueuedTurn } from "./chat-queue.ts";
import { ChatElsewhere } from "./ownership.ts";
import type { Interrupted } from "./recover.ts";
import type { UnansweredMessage } from "./say-again.ts";

/** How many due chats may ask the model at once. */
const maxAsking = 8;
/** A chat that takes longer than this no longer keeps the others waiting. */
const askingMs = 60_000;
/** The same for due calls, which run in slots of their own. */
const maxRunning = 8;
const runningMs = 10_000;
/** When many are due, each request to the model waits for a random part of this first. */
const jitterMs = 250;
/** How long one call of the store may take before the next sweep begins again. */
const storeMs = 60_000;
/** How long the event loop is kept while rows expire. */
const sliceMs = 10;
/** A settled row that no turn has shown for this long has to be shown here. Also how often such rows are looked for. */
const leftMs = 30_000;

export interface DueWorkContext {
  store: Store;
  logger: Logger;
  executor: Pick<Executor, "execute" | "recover">;
  conversations: Pick<Conversations, "mayAskUnattended">;
  unseen: Pick<UnseenQuestions, "mayAskModel">;
  /** How long looking for due approvals waits for tools and models that take their time. */
  graceMs: number;
  /** Shows outcomes of one message in a new turn, and marks those that are shown. Returns the turn, if one was needed. */
  show: (
    chat: string,
    rows: readonly Approval[],
    how: { reply: string; model: boolean | "again"; actor?: string | undefined },
  ) => Promise<Pick<QueuedTurn, "done"> | undefined>;
  /** Says a user's message again whose reply was cut off. Returns the turn, if one was needed. */
  sayAgain: (chat: string, unanswered: UnansweredMessage) => Promise<Pick<QueuedTurn, "done"> | undefined>;
  /** True while a turn that shows this row is queued or runs. */
  isCovered: (row: Approval) => boolean;
  isClosed: () => boolean;
  /** Does work in a chat here, or has `showHere` do it at the node that has the chat. */
  atChat: (work: () => Promise<void>, unshown: Unshown) => Promise<void>;
  /** For tests: between 0 and 1. */
  random?: () => number;
  /** For tests: waits for this many milliseconds. */
  wait?: (ms: number) => Promise<unknown>;
}

/** Outcomes of one message that have to be shown. Kept small: after a long absence there may be very many. */
export interface Unshown {
  chat: string;
  reply: string;
  ids: readonly string[];
  /** A crash cut off the model's response, so the model is asked again. */
  again: boolean;
  /** Whose message the reply is for, if it is known. */
  actor?: string | undefined;
  /** The user's message that is said again, if the model has said nothing about it that stays. */
  message?: UIMessage | undefined;
  /** The turn that was to show them has failed or was stopped, so the model is not asked: it is told with the next message. */
  left?: boolean;
}

/**
 * What the clock and a crash leave to do: rows expire, calls that were approved before a crash start, lost claims are
 * settled, and what came of it is shown. Rows expire at once, however many they are. Showing them asks the model, so it is
 * done for a few chats at a time.
 */
export class DueWork {
  readonly #context: DueWorkContext;
  readonly #running = new Slots(maxRunning, runningMs);
  readonly #unshown: Unshown[] = [];
  /** Rows whose call is being run or looked up. A later sweep leaves them alone. */
  readonly #inWork = new Set<string>();
  /** Rows that are being shown, or wait for it. */
  readonly #inShow = new Set<string>();
  /** When settled rows were last looked for. */
  #lookedForLeftAt = 0;
  #workers = 0;
  /** How many messages had to be shown so far, and how many of their turns have not begun. */
  #found = 0;
  #unbegun = 0;
  #onBegun: (() => void)[] = [];
  #looking: Promise<Promise<void>[]> | undefined;

  constructor(context: DueWorkContext) {
    this.#context = context;
  }

  /**
   * Settles what is due. With `interrupted`, at a start, this includes rows that were settled before a crash, and the
   * replies that the crash cut off. Does not wait for tools and models that take longer than a moment.
   */
  async settleDue(interrupted?: ReadonlyMap<string, Interrupted>): Promise<void> {
    const { logger, graceMs } = this.#context;
    const failed = (error: unknown) => {
      if (!isNotFound(error) && !(error instanceof ChatElsewhere))
        logger.error("A due approval could not be settled.", { error: describeError(error) });
    };
    this.#looking ??= this.#look(interrupted, failed).finally(() => (this.#looking = undefined));
    const before = this.#found;
    // What an earlier look has found is not waited for again.
    const begun = this.#looking
      .then((running) => Promise.all(running))
      .then(() => (this.#found > before ? this.#begun() : undefined));
    await atMost(graceMs, begun);
  }

  /** Continues a reply that the death of another node cut off. */
  continue(chat: string, interrupted: Interrupted): void {
    this.#show({ chat, ...interrupted, ids: [], again: true });
  }

  /**
   * Shows what another node has found to be due. Whether the model is asked depends on this node's live connection. Resolves
   * when the turns of everything that had to be shown have begun.
   */
  async showHere(unshown: Unshown): Promise<void> {
    this.#show(unshown);
    await this.#begun();
  }

  /** Goes through all due rows, a batch at a time. Returns the work that calls of tools have not finished. */
  async #look(
    interrupted: ReadonlyMap<string, Interrupted> | undefined,
    failed: (error: unknown) => void,
  ): Promise<Promise<void>[]> {
    const { store, isClosed } = this.#context;
    const again = new Map(interrupted);
    const running: Promise<void>[] = [];
    const yieldLoop = yieldEvery(sliceMs);
    const looksForLeft = Math.abs(store.now() - this.#lookedForLeftAt) >= leftMs;
    if (looksForLeft || interrupted) this.#lookedForLeftAt = store.now();
    for (let after: string | undefined; ;) {
      const wanted = { ...(after !== undefined && { after }), unsettled: !interrupted && !looksForLeft };
      const batch = await within(storeMs, store.dueApprovals(wanted), () => new Error("The store does not answer."));
      after = batch.at(-1)?.id;
      if (after === undefined || isClosed()) break;
      const isWork = (row: Approval) =>
        isSettled(row.state) ? interrupted !== undefined || this.#isLeft(row) : !this.#inWork.has(row.id);
      for (const rows of byReply(batch.filter(isWork))) {
        const { chat, messageId: reply } = rows[0];
        const cutOff = again.get(chat);
        const isAgain = cutOff?.reply === reply;
        if (isAgain) again.delete(chat);
        const left = !interrupted && rows.every(({ state }) => isSettled(state));
        const settling = this.#settle(rows, {
          chat,
          reply,
          again: isAgain,
          actor: isAgain ? cutOff.actor : undefined,
          message: isAgain ? cutOff.message : undefined,
          left,
        }).catch(failed);
        if (rows.some(needsExecutor)) running.push(settling);
        else await atMost(storeMs, settling);
        await yieldLoop();
      }
    }
    for (const [chat, each] of again) this.continue(chat, each);
    return running;
  }

  /** True for a settled row that should have been shown by now, and that nothing is about to show. */
  #isLeft(row: Approval): boolean {
    const { store, isCovered } = this.#context;
    if (this.#inShow.has(row.id) || (row.finishedAt ?? 0) + leftMs > store.now()) return false;
    return !isCovered(row);
  }

  /** Settles due rows of one message, and then has them shown together. */
  async #settle(due: readonly Approval[], how: Omit<Unshown, "ids">): Promise<void> {
    for (const { id } of due) this.#inWork.add(id);
    try {
      const rows = await Promise.all(due.map((row) => this.#move(row)));
      const ids = rows.flatMap(({ id, state }) => (isSettled(state) ? [id] : []));
      if (ids.length > 0 || how.again) this.#show({ ...how, ids });
    } finally {
      for (const { id } of due) this.#inWork.delete(id);
    }
  }

  async #move(due: Approval): Promise<Approval> {
    const { store, executor } = this.#context;
    switch (due.state) {
      case "pending":
        return (await store.move(due.id, { event: "expire" })).approval ?? due;
      case "approved":
        if (due.startBy !== undefined && due.startBy <= store.now())
          return (await store.move(due.id, { event: "expire" })).approval ?? due;
        // The turn of an agent run as a tool runs it.
        return due.innerSession === undefined ? this.#running.run(() => executor.execute(due)) : due;
      case "executing":
        return this.#running.run(() => executor.recover(due));
      case "waiting":
        return (await store.move(due.id, { event: "lose" })).approval ?? due;
      default:
        return due;
    }
  }

  #show(unshown: Unshown): void {
    for (const id of unshown.ids) this.#inShow.add(id);
    this.#unshown.push(unshown);
    this.#found += 1;
    this.#unbegun += 1;
    if (this.#workers < maxAsking) void this.#work();
  }

  /** Shows what has to be shown, one message after the other. */
  async #work(): Promise<void> {
    const { logger } = this.#context;
    this.#workers += 1;
    for (let next = this.#unshown.shift(); next; next = this.#unshown.shift()) {
      let hasBegun = false;
      const begun = () => {
        if (!hasBegun) this.#noteBegun();
        hasBegun = true;
      };
      const unshown = next;
      const { chat, ids } = unshown;
      const shown = this.#context
        .atChat(() => this.#showNow(unshown, begun), unshown)
        .catch((error: unknown) => {
          if (!isNotFound(error))
            logger.error("The outcome of a due approval could not be shown.", { chat, error: describeError(error) });
        })
        .finally(() => {
          for (const id of ids) this.#inShow.delete(id);
        });
      await atMost(askingMs, shown);
      begun();
      // The store may need no real waiting, and many outcomes are shown without asking the model.
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.#workers -= 1;
  }

  async #showNow({ chat, reply, ids, again, actor, message, left }: Unshown, begun: () => void): Promise<void> {
    const { store, conversations, unseen, show, isClosed, sayAgain } = this.#context;
    // What is not shown is due at the next start.
    if (isClosed()) return;
    const rows = (await Promise.all(ids.map((id) => store.getApproval(id)))).flatMap((row) => row ?? []);
    const mayAsk = !left && (await conversations.mayAskUnattended(chat, reply));
    const asks = mayAsk && (await unseen.mayAskModel(chat, rows));
    if (asks && this.#unbegun > maxAsking) await this.#wait();
    const turn = message
      ? await sayAgain(chat, { message, reply, actor })
      : await show(chat, rows, { reply, model: asks && again ? "again" : asks, actor });
    begun();
    await turn?.done.catch(() => undefined);
  }

  async #wait(): Promise<void> {
    const { random = Math.random, wait = delay } = this.#context;
    await wait(random() * jitterMs);
  }

  #noteBegun(): void {
    this.#unbegun -= 1;
    if (this.#unbegun > 0) return;
    for (const listener of this.#onBegun.splice(0)) listener();
  }

  /** Resolves when the turns of all messages found so far have begun. */
  async #begun(): Promise<void> {
    if (this.#unbegun > 0) await new Promise<void>((resolve) => this.#onBegun.push(resolve));
  }
}

/** True when settling the row takes more than a change in the ledger. */
function needsExecutor({ state }: Approval): boolean {
  return state === "approved" || state === "executing";
}

function byReply(rows: readonly Approval[]): [Approval, ...Approval[]][] {
  const groups = new Map<string, [Approval, ...Approval[]]>();
  for (const row of rows) {
    const group = groups.get(row.messageId);
    if (group) group.push(row);
    else groups.set(row.messageId, [row]);
  }
  return [...groups.values()];
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
