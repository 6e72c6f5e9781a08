import { isDeepStrictEqual } from "node:util";
import type { UIMessage, UIMessageChunk } from "ai";
import { type Identity, isSettled } from "../../protocol/index.ts";
import type { Approval, Session } from "../../stores/index.ts";
import type { ToolCalls } from "../adk/tool-calls.ts";
import type { Authorizer } from "../approval/authorizer.ts";
import type { ChatFiles } from "../files/index.ts";
import { findTurnByRequest, type KnownRequest } from "../log/find-turn-by-request.ts";
import { newId } from "../support/index.ts";
import type { Mode } from "../turn-input.ts";
import { answeredChat } from "./answered-chat.ts";
import { type Answer, type Given, matchesDecision, resolveAnswers, toOutcome } from "./answers.ts";
import { beginTurn } from "./begin-turn.ts";
import type { ChatQueue, QueuedTurn } from "./chat-queue.ts";
import { takenMessageId, unknownApproval, unknownCall, unknownChat, withoutChat } from "./errors.ts";
import { importHistory } from "./import-history.ts";
import { permittedAnswers } from "./permitted-answers.ts";
import { findEdit, findReply, refuseTakenId, type WantedReply } from "./find-cut.ts";
import { type RepeatedAnswers, repeatedOutcomes } from "./repeated-answers.ts";
import { Revisions, type RevisionsContext } from "./revisions.ts";
import type { Settlement } from "./settlement.ts";
import type { Titles } from "./titles.ts";
import { turnElsewhere } from "./turn-elsewhere.ts";

/** What a chat request asks for, from any wire and in any shape. */
export type Submission =
  | {
      type: "message";
      message: UIMessage;
      /** What was said before, for a chat that begins with this message. Only texts and files. */
      history?: readonly UIMessage[];
      /** The id of the message before it in the client's list. */
      after?: string;
    }
  | {
      type: "answers";
      answers: readonly Answer[];
      messageId?: string;
      /** The answers came outside a chat request, so no client waits for them in the message they are about. */
      aside?: boolean;
    }
  | ({ type: "regenerate" } & WantedReply);

/** A turn of a chat, to be read from the log. */
export interface Reading {
  turn: QueuedTurn;
  chat: string;
}

/** How to read what a request caused: a turn in the log, or a few chunks that are not in the log. */
export type Reply = Reading | { chunks: () => AsyncGenerator<UIMessageChunk> };

/** A reply, and what it shows again if it is not in the log. */
export type OwnReply = Reading | { chunks: () => AsyncGenerator<UIMessageChunk>; repeated: RepeatedAnswers };

/** The reply to a request, and the chat that it belongs to, by the name that its owner knows it by. */
export type Submitted = OwnReply & { chatName: string };

export interface SubmissionsContext extends RevisionsContext {
  appName: string;
  /** The name of the root agent. */
  agentName: string;
  limits: { chats: number; chatsPerOwner: number };
  authorizer: Authorizer;
  calls: ToolCalls;
  files: ChatFiles;
  settlement: Settlement;
  titles: Titles;
}

/** How a request is done. */
export interface SubmitOptions {
  mode: Mode;
  /** How the request is known if it comes again. Without this, each time is another request. */
  request?: Omit<KnownRequest, "message"> | undefined;
}

/** Takes in chat requests: messages, answers, and the wish for another reply. */
export class Submissions {
  readonly #context: SubmissionsContext;
  readonly #revisions: Revisions;

  constructor(context: SubmissionsContext) {
    this.#context = context;
    this.#revisions = new Revisions(context);
  }

  /** Without a name, a message begins a chat, and answers are for the chat of the approvals that they name. */
  async submit(
    identity: Identity,
    chatName: string | undefined,
    submission: Submission,
    options: SubmitOptions,
  ): Promise<Submitted> {
    this.#context.turns.refuseWhenClosed();
    switch (submission.type) {
      case "message": {
        const name = chatName ?? newId("chat");
        return { ...(await this.#say(identity, name, submission, options)), chatName: name };
      }
      case "answers": {
        const chat = await this.#chatOfAnswers(identity.owner, chatName, submission.answers);
        return { ...(await this.#answer(identity, chat, submission, options)), chatName: chat.name ?? "" };
      }
      case "regenerate":
        if (chatName === undefined) throw withoutChat();
        return { ...(await this.#regenerate(identity, chatName, submission, options)), chatName };
    }
  }

  /** A message is added to the chat, or replaces a part of it. One that comes twice while its turn runs joins that turn. */
  async #say(
    { owner, actor }: Identity,
    chatName: string,
    { message: sent, after, history = [] }: Submission & { type: "message" },
    { mode, request }: SubmitOptions,
  ): Promise<OwnReply> {
    const { store, turns, appName, files, limits, titles } = this.#context;
    const into = { owner, name: chatName, appName };
    const message = await files.take(sent, into, limits);
    const earlier: UIMessage[] = [];
    for (const each of history) {
      const taken = await files.takeAllowed(each, into, limits);
      if (taken.parts.length > 0) earlier.push(taken);
    }
    const chat = await store.openChat(into, limits);
    return turns.exclusive(chat, async (queue) => {
      const same = queue.find((turn) => isDeepStrictEqual(turn.message, message));
      if (same) return { chat: chat.id, turn: same };
      const begun = await this.#begunBy(request && { ...request, message }, queue);
      if (begun) return { chat: chat.id, turn: begun };
      refuseTakenId(message.id, await store.getMessage(chat.id, message.id));
      refuseRunningReply(message.id, queue);
      if (earlier.length > 0 && (await store.lastSequence(chat.id)) === 0)
        await importHistory(earlier, chat.id, this.#context);
      await turns.stopAll(queue, new Error("A new message came."));
      await titles.give(chat, message);
      // Stored messages have their small files as they were sent.
      const edit = await findEdit(store, chat.id, sent, after);
      const origin = { mode, actor, request: request?.id };
      if (edit?.isSame) {
        const wanted = await findReply(store, chat.id, { messageId: message.id });
        return { chat: chat.id, turn: await this.#revisions.again(queue, wanted, origin) };
      }
      const [first] = edit?.withdrawn ?? [];
      if (first && !edit?.before) await titles.replace(chat, first.message, message);
      if (edit) return { chat: chat.id, turn: await this.#revisions.edit(queue, edit, message, origin) };
      const reply = newId("msg");
      const input = { kind: "message", message, record: true } as const;
      const turn = { reply, input, mode, actor, begun: await beginTurn(store, chat.id, { message, reply, ...origin }) };
      return { chat: chat.id, turn: await turns.enqueue(queue, turn) };
    });
  }

  async #regenerate(
    { owner, actor }: Identity,
    chatName: string,
    wanted: WantedReply,
    { mode, request }: SubmitOptions,
  ): Promise<OwnReply> {
    const { store, turns } = this.#context;
    const chat = await this.#requireChat(owner, chatName);
    return turns.exclusive(chat, async (queue) => {
      const begun = await this.#begunBy(request, queue);
      if (begun) return { chat: chat.id, turn: begun };
      // A refused request changes nothing, so it stops nothing either. The reply that is being made is not stored yet.
      const isRunning = queue.find(({ reply }) => reply === wanted.messageId) !== undefined;
      if (!isRunning) await findReply(store, chat.id, wanted);
      await turns.stopAll(queue, new Error("The reply is made again."));
      const found = await findReply(store, chat.id, wanted);
      const origin = { mode, actor, request: request?.id };
      return { chat: chat.id, turn: await this.#revisions.again(queue, found, origin) };
    });
  }

  /** The turn that this request has begun, if it came before. The node that began it may have died. */
  async #begunBy(request: KnownRequest | undefined, queue: ChatQueue): Promise<QueuedTurn | undefined> {
    const { store, turns } = this.#context;
    const chat = queue.chat.id;
    const found = request === undefined ? undefined : await findTurnByRequest(store, chat, request);
    if (!found) return undefined;
    return queue.find(({ id }) => id === found.id) ?? turnElsewhere(found, (reason) => void turns.stop(chat, reason));
  }

  async #answer(
    identity: Identity,
    chat: Session,
    { answers, messageId, aside }: Submission & { type: "answers" },
    { mode }: SubmitOptions,
  ): Promise<OwnReply> {
    const { store, calls, turns, conversations, decisionsFirst } = this.#context;
    const mayAnswer = await permittedAnswers(answers, identity, chat, this.#context);
    const recorded = decisionsFirst.enter();
    const reply = turns.exclusive(chat, async (queue): Promise<OwnReply> => {
      const rows = (await store.listApprovals({ chat: chat.id, about: answers.map(({ id }) => id) })).filter(mayAnswer);
      const given = await resolveAnswers(answers, rows, (approval) => calls.isClientCall(approval));
      // Such a result is not a copy of the history. Its call may be recorded in a moment, so the client sends it again.
      if (aside && given.length === 0 && answers[0]) throw unknownCall(answers[0].id);
      const { changed, said } = await this.#apply(given, identity.actor, recorded);
      const about = given.at(-1)?.approval.messageId ?? messageId ?? newId("msg");
      const [here, elsewhere] = [
        changed.filter((approval) => approval.messageId === about),
        changed.filter((approval) => approval.messageId !== about),
      ];
      // Found before other turns begin: they write to older messages, and this one would no longer be the last.
      const isGone = here.length > 0 && (await this.#isWithdrawn(chat.id, about, queue));
      const place = aside || isGone ? await conversations.placeFor(chat.id, about) : about;
      for (const approval of elsewhere) await turns.continue(queue, [approval], { reply: approval.messageId, mode });
      if (here.length === 0) return this.#replyToRepeated(chat, queue, given, said, about);
      // Every answered call is settled in the reply to its answer. Stock clients send an unsettled answer again, for ever.
      const repeated = given
        .filter(({ answer, shown }) => answer.approved !== undefined && !shown)
        .map(({ approval }) => approval)
        .filter(({ id, messageId: shownIn }) => shownIn === about && !here.some((row) => row.id === id));
      const turn = await turns.continue(queue, [...repeated, ...here], { reply: place, answered: said, mode });
      return { chat: chat.id, turn };
    });
    return reply.finally(recorded);
  }

  /** True for a message that was withdrawn. One that is being generated is not stored yet. */
  async #isWithdrawn(chat: string, messageId: string, queue: ChatQueue): Promise<boolean> {
    if (queue.find(({ reply }) => reply === messageId)) return false;
    return (await this.#context.store.getMessage(chat, messageId)) === undefined;
  }

  /** Records decisions and results. Returns the rows this changed, and what the client said about each. */
  async #apply(
    given: readonly Given[],
    actor: string,
    recorded: () => void,
  ): Promise<{ changed: Approval[]; said: Map<string, boolean> }> {
    const { settlement, executor } = this.#context;
    const changed: Approval[] = [];
    const said = new Map<string, boolean>();
    for (const { approval: before, answer } of given) {
      let approval = before;
      let changes = false;
      if (answer.approved !== undefined && approval.gated) {
        said.set(approval.id, answer.approved);
        const decision = { approved: answer.approved, reason: answer.reason };
        const decided = await settlement.record(approval, decision, actor, recorded);
        ({ approval } = decided);
        changes = decided.moved || decided.expired;
      }
      if (answer.result && matchesDecision(approval, true) && !isSettled(approval.state)) {
        const { state } = approval;
        ({ approval } = await executor.report(approval, toOutcome(answer.result)));
        changes ||= approval.state !== state;
      }
      if (changes) changed.push(approval);
    }
    recorded();
    return { changed, said };
  }

  /** Answers that changed nothing: joins the turn that shows their outcome, or shows it in a few chunks. */
  async #replyToRepeated(
    chat: Session,
    queue: ChatQueue,
    given: readonly Given[],
    said: ReadonlyMap<string, boolean>,
    about: string,
  ): Promise<OwnReply> {
    const ids = given.map(({ approval }) => approval.id);
    const rows = await Promise.all(ids.map((id) => this.#context.store.getApproval(id)));
    const matches = (row: Approval | undefined) => {
      const approved = row && said.get(row.id);
      return row !== undefined && (approved === undefined || matchesDecision(row, approved));
    };
    const covering = queue.find((turn) => turn.reply === about && ids.some((id) => turn.covers.has(id)));
    if (covering && rows.every(matches)) return { chat: chat.id, turn: covering };
    return this.repeated({ chat: chat.id, ids, said: [...said], messageId: about });
  }

  /** The reply to answers that changed nothing. */
  repeated(repeated: RepeatedAnswers): Exclude<OwnReply, Reading> {
    return { chunks: () => repeatedOutcomes(repeated, this.#context), repeated };
  }

  async #chatOfAnswers(owner: string, chatName: string | undefined, answers: readonly Answer[]): Promise<Session> {
    const chat = await answeredChat(owner, chatName, answers, this.#context.store);
    if (chat) return chat;
    if (answers[0]) throw unknownApproval(answers[0].id);
    throw chatName === undefined ? withoutChat() : unknownChat(chatName);
  }

  async #requireChat(owner: string, name: string): Promise<Session> {
    const chat = await this.#context.store.findChat(owner, name);
    if (!chat) throw unknownChat(name);
    return chat;
  }
}

/** Throws if the id of a user's message belongs to a reply that is being generated. */
function refuseRunningReply(id: string, queue: ChatQueue): void {
  if (queue.find(({ reply }) => reply === id)) throw takenMessageId(id);
}
