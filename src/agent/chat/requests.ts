import type { ApprovalView, Decision, Identity } from "../../protocol/index.ts";
import type { AppStore } from "../../stores/app-store.ts";
import type { JsonObject } from "../../stores/index.ts";
import { findPausedTurn, findTurnAt } from "../log/find-held-turn.ts";
import { newId } from "../support/index.ts";
import type { Mode } from "../turn-input.ts";
import type { Admission } from "./admission.ts";
import { withReadResults } from "./answers.ts";
import type { QueuedTurn } from "./chat-queue.ts";
import type { ChatTurns } from "./chat-turns.ts";
import type { Relay } from "./relay.ts";
import type { Report, Resolution } from "./reports.ts";
import type { DecisionResult, Settlement } from "./settlement.ts";
import type { RepeatedAnswers } from "./repeated-answers.ts";
import type { Reading, Submission, Submissions, Submitted } from "./submissions.ts";
import { findTurnElsewhere, turnElsewhere } from "./turn-elsewhere.ts";

export interface RequestsContext {
  store: AppStore;
  relay: Relay;
  turns: ChatTurns;
  admission: Admission;
  submissions: Submissions;
  settlement: Settlement;
}

/** A chat request with everything that was found out about it. */
interface ChatRequest {
  identity: Identity;
  chatName: string | undefined;
  submission: Submission;
  mode: Mode;
  /** An id that stays the same if the request comes again. */
  id?: string | undefined;
  /** Where the log ended when it was first posted to another node. */
  since?: number | undefined;
}

/** What a node answers to a chat request: where the reply is in the log, or what was answered before. */
type SubmitAnswer = { chatName: string } & (
  | { chat: string; turn: Pick<QueuedTurn, "id" | "reply" | "after"> }
  | { repeated: RepeatedAnswers }
);

/** A reply for a reader of a held stream. */
export interface HeldReading extends Reading {
  /**
   * `after`: the reader has the reply up to this entry. `turn`: it has nothing, and the turn is being generated. `message`:
   * it has nothing, and the stored message is the whole reply up to this entry.
   */
  from: { after: number } | "turn" | { message: number };
}

const stoppedByUser = () => new Error("The user stopped the turn.");

/** Every request that changes a chat, done by the node that has the chat, whichever node it came to. */
export class Requests {
  readonly #context: RequestsContext;

  constructor(context: RequestsContext) {
    this.#context = context;
    const { relay, settlement } = context;
    relay.handle("submit", async (body) => this.#toAnswer(await this.#submit(body as unknown as ChatRequest)));
    relay.handle("decide", ({ identity, decision }) =>
      settlement.decide(identity as Identity, decision as Decision & { key?: string }),
    );
    relay.handle("settle", ({ owner, key, report }) => settlement.settle(String(owner), String(key), report as Report));
    relay.handle("resolve", ({ identity, resolution }) =>
      settlement.resolve(identity as Identity, resolution as Resolution),
    );
    relay.handle("stop", ({ chat }) => this.#stop(String(chat)));
  }

  /** Takes in a chat request. */
  submit(request: ChatRequest): Promise<Submitted> {
    let current = request;
    return this.#context.relay.run(() => this.#submit(current), {
      relayed: async () => {
        // It may be done here after all, if the other node dies. Then what that node has begun is found by the id.
        const { id = newId("request"), since = await this.#end(current) } = current;
        current = { ...(await this.#read(current)), id, since };
        return { name: "submit", body: toJson(current) };
      },
      receive: (value) => this.#fromAnswer(value as SubmitAnswer),
    });
  }

  decide(identity: Identity, decision: Decision & { key?: string }): Promise<DecisionResult> {
    return this.#context.relay.run(() => this.#context.settlement.decide(identity, decision), {
      relayed: async () => ({ name: "decide", body: toJson({ identity, decision }) }),
      receive: (value) => value as DecisionResult,
    });
  }

  settle(owner: string, key: string, report: Report): Promise<ApprovalView> {
    return this.#context.relay.run(() => this.#context.settlement.settle(owner, key, report), {
      relayed: async () => ({ name: "settle", body: toJson({ owner, key, report }) }),
      receive: (value) => value as ApprovalView,
    });
  }

  resolve(identity: Identity, resolution: Resolution): Promise<ApprovalView> {
    return this.#context.relay.run(() => this.#context.settlement.resolve(identity, resolution), {
      relayed: async () => ({ name: "resolve", body: toJson({ identity, resolution }) }),
      receive: (value) => value as ApprovalView,
    });
  }

  /** Stops what is being generated in a chat, or is about to be. True when there was something. */
  stop(chat: string): Promise<boolean> {
    return this.#context.relay.run(() => this.#stop(chat), {
      relayed: async () => ({ name: "stop", body: { chat } }),
      receive: (value) => value === true,
    });
  }

  /** The turn of a chat that is being generated, at any node. */
  async running(chat: string): Promise<QueuedTurn | undefined> {
    const { turns, store } = this.#context;
    const here = turns.running(chat);
    if (here) return here;
    const found = await findTurnElsewhere(store, chat);
    return found && this.#elsewhere(chat, found);
  }

  /** The last sequence number of a chat's log, and whether a turn is being generated there. */
  async position(chat: string): Promise<{ sequence: number; running: boolean }> {
    const { store } = this.#context;
    for (;;) {
      const sequence = await store.lastSequence(chat);
      const turn = await this.running(chat);
      // Otherwise a turn has begun or ended meanwhile, and the number may be in the middle of it.
      if (turn || sequence === (await store.lastSequence(chat))) return { sequence, running: turn !== undefined };
    }
  }

  /** What a held stream goes on with. The part that a reader has may have been withdrawn: then it gets the reply again. */
  async held(chat: string, after?: number): Promise<HeldReading | undefined> {
    const { store } = this.#context;
    const seen = after === undefined ? undefined : await findTurnAt(store, chat, after);
    const sequence = await store.lastSequence(chat);
    const running = await this.running(chat);
    if (after !== undefined && seen && seen.end !== "cut")
      return { turn: running?.id === seen.id ? running : this.#elsewhere(chat, seen), chat, from: { after } };
    if (running) return { turn: running, chat, from: "turn" };
    const paused = await findPausedTurn(store, chat);
    // A turn has begun or ended meanwhile.
    if (sequence !== (await store.lastSequence(chat))) return this.held(chat, after);
    return paused && { turn: this.#elsewhere(chat, paused), chat, from: { message: sequence } };
  }

  #submit({ identity, chatName, submission, mode, id, since }: ChatRequest): Promise<Submitted> {
    const { admission, submissions } = this.#context;
    return admission.admit({ owner: identity.owner, chatName, type: submission.type, mode }, () =>
      submissions.submit(identity, chatName, submission, {
        mode,
        request: id === undefined ? undefined : { id, since },
      }),
    );
  }

  /** A request without values that are still bytes. */
  async #read(request: ChatRequest): Promise<ChatRequest> {
    const { submission, identity } = request;
    if (submission.type !== "answers") return request;
    const about = submission.answers.map(({ id }) => id);
    const rows = await this.#context.store.listApprovals({ owner: identity.owner, about });
    return { ...request, submission: { ...submission, answers: withReadResults(submission.answers, rows) } };
  }

  /** Where the log of the request's chat ends now. */
  async #end({ identity, chatName = "" }: ChatRequest): Promise<number> {
    const { store } = this.#context;
    const chat = await store.findChat(identity.owner, chatName);
    return chat ? store.lastSequence(chat.id) : 0;
  }

  async #stop(chat: string): Promise<boolean> {
    const { turns, store } = this.#context;
    const stopTurns = () => turns.stop(chat, stoppedByUser());
    if (turns.running(chat)) return stopTurns();
    // After the sections before it: a decision may have been recorded whose turn is not queued yet.
    if (await turns.inChat(chat, stopTurns)) return true;
    // A reply that a dead node left was ended when the chat was taken. The turn that makes it again begins in a moment.
    return (await findTurnElsewhere(store, chat)) !== undefined && stopTurns();
  }

  #elsewhere(chat: string, turn: Pick<QueuedTurn, "id" | "reply" | "after">): QueuedTurn {
    return turnElsewhere(turn, () => void this.stop(chat).catch(() => undefined));
  }

  #toAnswer(submitted: Submitted): SubmitAnswer {
    const { chatName } = submitted;
    if (!("turn" in submitted)) return { chatName, repeated: submitted.repeated };
    const { id, reply, after } = submitted.turn;
    return { chatName, chat: submitted.chat, turn: { id, reply, after } };
  }

  #fromAnswer(answer: SubmitAnswer): Submitted {
    const { chatName } = answer;
    if ("repeated" in answer)
      return { ...this.#context.submissions.repeated({ ...answer.repeated, runsElsewhere: true }), chatName };
    return { chatName, chat: answer.chat, turn: this.#elsewhere(answer.chat, answer.turn) };
  }
}

function toJson(value: object): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject;
}
