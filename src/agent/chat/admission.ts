import type { Quota } from "../../protocol/quota.ts";
import type { AppStore } from "../../stores/app-store.ts";
import type { Conversations, ModelCalls } from "../conversation/index.ts";
import type { Mode } from "../turn-input.ts";
import type { Reply, Submission } from "./submissions.ts";

export interface AdmissionContext {
  store: AppStore;
  /** Turns that are not over. */
  quota: Quota;
  modelCalls: ModelCalls;
  conversations: Pick<Conversations, "checkRoom">;
  /** True while a turn of the chat runs. */
  isRunning: (chatId: string) => boolean;
}

/** A request that may start a turn. */
export interface Requested {
  owner: string;
  /** Undefined for a chat that the request begins. */
  chatName: string | undefined;
  type: Submission["type"];
  mode: Mode;
}

/**
 * Decides whether a request may start a turn now, before the request has any effect. Answers are never refused here: a
 * person's decision must not wait for a place, and the calls that wait for one are limited themselves.
 */
export class Admission {
  readonly #context: AdmissionContext;

  constructor(context: AdmissionContext) {
    this.#context = context;
  }

  /** Does the work of a request, and counts the turn that it starts until the turn is over. */
  async admit<R extends Reply>(request: Requested, work: () => Promise<R>): Promise<R> {
    const { quota } = this.#context;
    const mayRefuse = request.type !== "answers" && !(await this.#replacesTurn(request));
    if (request.type !== "answers") await this.#checkModel(request);
    // Nothing else runs between the check and the count, so requests that come together are all counted.
    const share = mayRefuse ? quota.take(request.owner) : quota.count(request.owner);
    try {
      const reply = await work();
      if ("turn" in reply) void reply.turn.done.then(share.release, share.release);
      else share.release();
      return reply;
    } catch (error) {
      share.release();
      throw error;
    }
  }

  /** True if the owner has no place left and the request ends a turn that has one. */
  async #replacesTurn({ owner, chatName }: Requested): Promise<boolean> {
    const { quota, store, isRunning } = this.#context;
    try {
      quota.check(owner);
      return false;
    } catch {
      const chat = chatName === undefined ? undefined : await store.findChat(owner, chatName);
      return chat !== undefined && isRunning(chat.id);
    }
  }

  async #checkModel({ owner, chatName, mode }: Requested): Promise<void> {
    const { modelCalls, conversations, store } = this.#context;
    modelCalls.check(owner);
    await conversations.checkRoom(owner, mode, async () =>
      chatName === undefined ? undefined : (await store.findChat(owner, chatName))?.id,
    );
  }
}
