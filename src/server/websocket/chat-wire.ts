import type { UIMessageChunk } from "ai";
import type { Reply, Submission } from "../../agent/index.ts";
import { BridgeError, type ClientFrame } from "../../protocol/index.ts";
import { interpret, resultToAnswer } from "../interpret.ts";
import type { Refusal } from "../refusal.ts";
import { withHistory } from "../with-history.ts";
import { ChatFollower, type Start } from "./chat-follower.ts";
import { ChatFrameWriter } from "./chat-frame-writer.ts";
import type { TurnPlace } from "./sent-messages.ts";
import type { Wire } from "./wire.ts";
import type { WireContext } from "./wire-context.ts";

type Frame<Type extends ClientFrame["type"]> = Extract<ClientFrame, { type: Type }>;

/**
 * The frames of this project's own client. The socket follows one chat and gets every turn of it, also the turns that
 * other clients caused, as server-sent events in text frames.
 */
export class ChatWire implements Wire {
  readonly #context: WireContext;
  readonly #frames: ChatFrameWriter;
  #following: ChatFollower | undefined;
  #leave: (() => void) | undefined;
  #closed = false;
  /** Ends what this socket reads beside the chat that it follows; made when it does. */
  #closing: AbortController | undefined;

  constructor(context: WireContext) {
    this.#context = context;
    this.#frames = new ChatFrameWriter(context.writer, context.numbered);
  }

  async receive(frame: ClientFrame): Promise<void> {
    switch (frame.type) {
      case "message":
        return this.#message(frame);
      case "tool_result":
        return this.#toolResult(frame);
      case "attach":
        return this.#context.read(() => this.#attach(frame));
      case "interrupt":
        return this.#interrupt();
      case "ping":
        return this.#frames.control({ type: "pong", timestamp: frame.timestamp });
      case "audio_control":
      case "audio_chunk":
        throw new BridgeError(
          "invalid",
          `This server accepts no audio; send a message frame instead of ${frame.type}.`,
        );
      default:
        throw new BridgeError(
          "invalid",
          `The first frame of this socket chose the chat wire; a ${frame.type} frame needs a socket with the AI SDK wire.`,
        );
    }
  }

  refuse(refusal: Refusal, requestId: string | undefined): void {
    if (this.#context.numbered && requestId !== undefined)
      this.#frames.control({ type: "refused", requestId, ...refusal });
    else if (this.#following?.isSending) this.#frames.event({ type: "data-refusal", transient: true, data: refusal });
    else {
      this.#frames.event({ type: "error", errorText: refusal.message });
      this.#frames.done();
    }
  }

  close(): void {
    this.#closed = true;
    this.#closing?.abort();
    this.#following?.stop();
    this.#leave?.();
    this.#leave = undefined;
  }

  async #message(frame: Frame<"message">): Promise<void> {
    // A message without an id is for the chat that this socket follows. If there is none, it begins a new chat.
    const { id: named = this.#following?.chat, requestId } = frame;
    const submission = withHistory(interpret(frame), frame, named);
    if (submission.type === "answers") return this.#answer(submission, named, requestId);
    const chat = named ?? crypto.randomUUID();
    return this.#reply(await this.#submit(frame, submission, chat), chat, requestId, named === undefined);
  }

  /** Submits a message, or the wish for another reply. One that the client sends again is not run again. */
  async #submit(
    frame: Frame<"message">,
    submission: Exclude<Submission, { type: "answers" }>,
    chat: string,
  ): Promise<Reply | { turn: TurnPlace }> {
    const { owner, sent } = this.#context;
    const { requestId } = frame;
    if (submission.type === "regenerate")
      return sent.once({ owner, chat, requestId }, () => this.#context.submit(chat, submission, requestId));
    const submit = () => this.#context.submit(chat, submission);
    const { id, parts } = submission.message;
    const message = { owner, chat, id, parts };
    return frame.resend ? sent.sendAgain(message, submit) : sent.send(message, submit);
  }

  async #toolResult({ id, toolCallId, result, requestId }: Frame<"tool_result">): Promise<void> {
    const answers = [resultToAnswer(toolCallId, result)];
    // The id of an approval names its chat, whichever chat this socket follows. The id of a call does not.
    const chat = id ?? (await this.#context.bridge.chatOf(this.#context.owner, toolCallId)) ?? this.#following?.chat;
    if (chat === undefined) throw new BridgeError("not_found", `There is no approval ${toolCallId} here.`);
    return this.#answer({ type: "answers", answers, aside: true }, chat, requestId);
  }

  /** Submits answers that were sent to this chat. What they answer may be in another chat of the owner. */
  async #answer(
    submission: Submission & { type: "answers" },
    chat: string | undefined,
    requestId: string | undefined,
  ): Promise<void> {
    const reply = await this.#context.submit(chat, submission);
    if (chat === undefined || reply.chatName === chat)
      return this.#reply(reply, reply.chatName, requestId, chat === undefined);
    // The client follows its own chat, and numbers of the other log would confuse it. So it gets the reply without them.
    return this.#reply({ chunks: () => this.#chunksOf(reply) }, chat, requestId);
  }

  async *#chunksOf(reply: Reply): AsyncGenerator<UIMessageChunk> {
    if (!("turn" in reply)) return yield* reply.chunks();
    const { signal } = (this.#closing ??= new AbortController());
    for await (const chunks of this.#context.bridge.read(reply, { signal }))
      for (const { chunk } of chunks) yield chunk;
  }

  async #attach({ id: chat, after }: Frame<"attach">): Promise<void> {
    const { bridge, owner } = this.#context;
    for (;;) {
      const { sequence, running } = await bridge.position(owner, chat);
      const found = running && after === undefined ? await this.#context.findRunning(chat) : undefined;
      if (this.#closed) return;
      // The turn has ended, and another one may have begun since.
      if (running && after === undefined && !found) continue;
      this.#stopFollowing(chat);
      this.#frames.control({
        type: "attached",
        id: chat,
        sequence,
        running,
      });
      if (found) this.#follow(chat, { kind: "turn", turn: found.reading.turn, message: found.message });
      else if (after === undefined) this.#follow(chat, { kind: "next", sequence });
      else this.#follow(chat, { kind: "after", sequence: Math.min(after, sequence) });
      return;
    }
  }

  async #interrupt(): Promise<void> {
    if (!this.#following)
      throw new BridgeError(
        "invalid",
        "An interrupt stops the chat that the socket follows; this socket follows none yet.",
      );
    await this.#context.bridge.stop(this.#context.owner, this.#following.chat);
  }

  /**
   * Follows the turn that a frame caused, or sends the chunks of a reply that is not in the log. The client is told which
   * chat it is if it has not named it.
   */
  async #reply(
    reply: Reply | { turn: TurnPlace },
    chat: string,
    requestId: string | undefined,
    isUnnamed = false,
  ): Promise<void> {
    if (this.#closed) return;
    if ("turn" in reply) {
      const chatId = isUnnamed ? chat : undefined;
      if (this.#following?.chat !== chat) this.#follow(chat, { kind: "turn", turn: reply.turn, chatId });
      this.#accept(requestId, reply.turn.id);
      return;
    }
    const { sequence } = await this.#context.bridge.position(this.#context.owner, chat);
    if (this.#closed) return;
    if (this.#following?.chat !== chat) this.#follow(chat, { kind: "next", sequence });
    const turn = `aside_${crypto.randomUUID()}`;
    this.#accept(requestId, turn);
    this.#sendAside(reply.chunks(), chat, turn).catch((error: unknown) => this.#context.fail(error));
  }

  /** Collects the whole reply first, because it must not mix with a turn. */
  async #sendAside(reply: AsyncGenerator<UIMessageChunk>, chat: string, turn: string): Promise<void> {
    const view = this.#context.view();
    const chunks: UIMessageChunk[] = [];
    for await (const chunk of reply) chunks.push(...(await view(chunk)));
    const following = this.#following;
    if (!this.#closed && following?.chat === chat) following.addAside({ turn, chunks });
  }

  #accept(requestId: string | undefined, turn: string): void {
    if (this.#context.numbered && requestId !== undefined) this.#frames.control({ type: "accepted", requestId, turn });
  }

  #follow(chat: string, start: Start): void {
    this.#stopFollowing(chat);
    this.#leave ??= this.#context.attach(chat);
    this.#following = new ChatFollower(this.#context, this.#frames, chat, start);
  }

  /** Stops reading. If the next chat is another one, also leaves this chat and ends the turn that is being sent. */
  #stopFollowing(next: string): void {
    const following = this.#following;
    if (!following) return;
    following.stop();
    if (following.chat === next) return;
    this.#following = undefined;
    if (following.isSending) this.#frames.done();
    this.#leave?.();
    this.#leave = undefined;
  }
}
