import { AsyncQueue, type BaseLlmConnection, type Gemini, type LlmRequest, type LlmResponse } from "@google/adk";
import {
  type Content,
  FinishReason,
  type FunctionCall,
  type FunctionResponse,
  type GenerateContentResponseUsageMetadata,
  type Live,
  type LiveCallbacks,
  type LiveConnectConfig,
  type LiveServerMessage,
  type Part,
  type Session as LiveApiSession,
  TurnCompleteReason,
  type UsageMetadata,
} from "@google/genai";
import { z } from "zod";
import { BridgeError } from "../protocol/index.ts";
import { offerMissing } from "./missing-tool.ts";

/**
 * The connection to Gemini Live that ADK's own should have been. That one hangs when the key is refused or nobody answers,
 * is silent when the server closes, holds tool calls back for some models and loses interruptions and cancellations. This
 * one reports all of them, and gives every call an id that no other connection uses: servers count from one.
 *
 * What has no place in an ADK response travels as a notice, see {@link noticeOf}.
 */
export interface LiveConnectionOptions {
  model: string;
  /** How long connecting may take. */
  connectMs: number;
}

/** What the connection says besides the model's own words. */
export interface Notice {
  /** The history was sent, and the model listens. */
  connected?: true;
  /** The model takes these calls back. */
  cancelled?: string[];
  /** The server will close soon. */
  leaving?: true;
}

const noticeKey = "live-notice";
const owedKey = "live-owed";

export function noticeOf(event: { customMetadata?: Record<string, unknown> }): Notice | undefined {
  return event.customMetadata?.[noticeKey] as Notice | undefined;
}

/**
 * At the end of a model's turn, the calls it had made and not been answered when it ended. Whoever answered one of them
 * since is owed another turn; the end of a turn that only called says nothing about the turns after it.
 */
export function owedOf(event: { customMetadata?: Record<string, unknown> }): readonly string[] {
  return (event.customMetadata?.[owedKey] as string[] | undefined) ?? [];
}

/** Only an event with something in it passes ADK, and a partial one is not stored. */
function notice(said: Notice): LlmResponse {
  return { partial: true, usageMetadata: {}, customMetadata: { [noticeKey]: said } };
}

/** A connection of another kind of model, which says that it is there before anything else. */
export function announceConnection(connection: BaseLlmConnection): BaseLlmConnection {
  const receive = connection.receive.bind(connection);
  connection.receive = async function* () {
    yield notice({ connected: true });
    yield* receive();
  };
  return connection;
}

const callPrefix = "live-";

/** True for the id of a call made over a live connection. */
export const isLiveId = (callId: string): boolean => callId.startsWith(callPrefix);

/** True for calls made over a live connection, and for those of agents run as tools that were called over one. */
export function isAskedLive({ toolCallId, session }: { toolCallId: string; session: string }): boolean {
  return isLiveId(toolCallId) || session.includes(`~${callPrefix}`);
}

export async function connectLive(
  gemini: Gemini,
  request: LlmRequest,
  { model, connectMs }: LiveConnectionOptions,
): Promise<BaseLlmConnection> {
  const messages = new AsyncQueue<Arrived>();
  const calls = new Calls();
  let closing = false;
  const session = await openSession(gemini, {
    model,
    connectMs,
    config: toConfig(request),
    onmessage: (message) => {
      liveMessage.parse(message);
      messages.push(calls.take(message));
    },
    onend: (error) => {
      if (closing || !error) messages.close();
      else messages.fail(error);
    },
  });
  return {
    async sendHistory(history) {
      const turns = history.map(toText).filter(({ parts }) => parts?.length);
      if (turns.length > 0) session.sendClientContent({ turns, turnComplete: false });
    },
    async sendContent(content) {
      const parts = content.parts ?? [];
      const functionResponses = parts.flatMap(({ functionResponse }) =>
        functionResponse ? [calls.answer(functionResponse)] : [],
      );
      // ADK is about to leave this connection for the other agent's; an answer would only make this one speak.
      const isTransfer = ({ name, response }: (typeof functionResponses)[number]) =>
        name === "transfer_to_agent" && !response?.["error"];
      if (functionResponses.length > 0 && functionResponses.every(isTransfer)) return;
      const text = parts.every((part) => part.text) ? parts.map((part) => part.text).join("\n") : "";
      if (functionResponses.length > 0) session.sendToolResponse({ functionResponses });
      // Nothing but the wish for an answer: a sub-agent takes over a conversation that is there already.
      else if (parts.length === 0) session.sendClientContent({ turnComplete: true });
      else if (text && takesRealtimeText(model)) session.sendRealtimeInput({ text });
      else session.sendClientContent({ turns: [content], turnComplete: true });
    },
    async sendRealtime(blob) {
      const kind = blob.mimeType?.split("/")[0];
      session.sendRealtimeInput({ [kind === "audio" ? "audio" : kind === "video" ? "video" : "media"]: blob });
    },
    async close() {
      closing = true;
      session.close();
      messages.close();
    },
    async *receive() {
      yield notice({ connected: true });
      const read = responses(model);
      for await (const arrived of messages) {
        offerMissing(arrived.calls, request.toolsDict);
        yield* read(arrived);
      }
    },
  };
}

/** As much of a message as is read here. What does not fit ends the connection, and nothing else. */
const liveMessage = z.looseObject({
  toolCall: z.looseObject({ functionCalls: z.array(z.looseObject({ name: z.string() })).nullish() }).nullish(),
  toolCallCancellation: z.looseObject({ ids: z.array(z.string()).nullish() }).nullish(),
  serverContent: z
    .looseObject({ modelTurn: z.looseObject({ parts: z.array(z.looseObject({})).nullish() }).nullish() })
    .nullish(),
});

/** A message with its calls under our ids, and the calls that were open when it came. */
interface Arrived {
  message: LiveServerMessage;
  calls: FunctionCall[];
  cancelled: string[];
  owed: string[];
}

/**
 * The calls of one connection. Each gets an id that nothing else has: a server counts from one on every connection, and
 * nothing keeps it from using an id twice. What a person said yes to must be what they saw.
 */
class Calls {
  readonly #tag = `${callPrefix}${crypto.randomUUID().slice(0, 8)}-`;
  /** Those without a response, by our ids, as the server knows them. */
  readonly #open = new Map<string, FunctionCall>();
  #count = 0;

  take(message: LiveServerMessage): Arrived {
    const spoken = message.serverContent?.modelTurn?.parts ?? [];
    const made = [
      ...(message.toolCall?.functionCalls ?? []),
      ...spoken.flatMap(({ functionCall }) => functionCall ?? []),
    ];
    const calls = made.map((call): FunctionCall => {
      this.#count += 1;
      const id = this.#tag + this.#count;
      this.#open.set(id, { id: call.id, name: call.name });
      return { ...call, id };
    });
    const ids = message.toolCallCancellation?.ids ?? [];
    const cancelled = [...this.#open].flatMap(([id, call]) =>
      call.id !== undefined && ids.includes(call.id) ? [id] : [],
    );
    for (const id of cancelled) this.#open.delete(id);
    return { message, calls, cancelled, owed: [...this.#open.keys()] };
  }

  /** A response as the server wants it: to the id and the name it used. */
  answer({ id = "", name, response }: FunctionResponse) {
    const call = this.#open.get(id);
    this.#open.delete(id);
    return { id: call?.id, name: call?.name ?? name, response };
  }
}

/** These take new text as realtime input, and turns only as history. */
function takesRealtimeText(model: string): boolean {
  return /^gemini-[3-9]\..*-flash-live/.test(model);
}

function toConfig({ liveConnectConfig, config }: LlmRequest): LiveConnectConfig {
  const { systemInstruction, tools } = config ?? {};
  return {
    ...liveConnectConfig,
    ...(typeof systemInstruction === "string" && {
      systemInstruction: { role: "system", parts: [{ text: systemInstruction }] },
    }),
    ...(tools && { tools }),
  };
}

/** Live takes no calls and responses as history, so they are told. */
function toText({ role, parts = [] }: Content): Content {
  const told = parts.flatMap((part): Part[] => {
    const { functionCall, functionResponse, text, thought, inlineData } = part;
    if (functionCall) return [{ text: `[called ${functionCall.name}(${JSON.stringify(functionCall.args ?? {})})]` }];
    if (functionResponse)
      return [{ text: `[${functionResponse.name} returned ${JSON.stringify(functionResponse.response ?? {})}]` }];
    if (thought) return [];
    return text || inlineData ? [part] : [];
  });
  return { role, parts: told };
}

interface Opening {
  model: string;
  connectMs: number;
  config: LiveConnectConfig;
  onmessage: (message: LiveServerMessage) => void;
  /** The connection is over, with an error unless it ended as it should. */
  onend: (error?: Error) => void;
}

/** Opens a session, or throws within `connectMs`; what was opened by then is closed. */
async function openSession(
  gemini: Gemini,
  { model, connectMs, config, onmessage, onend }: Opening,
): Promise<LiveApiSession> {
  const socket = reachable(gemini.liveApiClient.live, () => unreadable());
  let fail!: (error: Error) => void;
  const failed = new Promise<never>((_, reject) => (fail = reject));
  failed.catch(() => undefined);
  const end = (error?: Error) => {
    fail(error ?? liveError("The model ended the conversation before it began."));
    onend(error);
  };
  const unreadable = () => {
    end(liveError("The model sent something that cannot be read."));
    socket.terminate();
  };
  const callbacks: LiveCallbacks = {
    onmessage: (message) => {
      try {
        onmessage(message);
      } catch {
        unreadable();
      }
    },
    onerror: ({ message }) => end(liveError(`The model cannot be reached: ${message}`)),
    onclose: ({ code, reason }) => end(code === 1000 ? undefined : liveError(closeSentence(code, reason))),
  };
  const timer = setTimeout(
    () => fail(liveError(`The model did not answer within ${connectMs / 1000} seconds.`)),
    connectMs,
  );
  try {
    return await Promise.race([socket.live.connect({ model, config, callbacks }), failed]);
  } catch (error) {
    socket.terminate();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

function liveError(sentence: string): BridgeError {
  return new BridgeError("unavailable", sentence);
}

function closeSentence(code: number, reason: string): string {
  const why = reason ? `: ${reason}` : ".";
  return `The model ended the conversation (${code})${why}`;
}

interface Socket {
  close(): void;
  /** Node's. */
  ws?: { terminate?: () => void };
}
interface SocketCallbacks {
  onmessage: (event: { data: unknown }) => void;
}

/**
 * The client gives a session out only when it is set up, so one that never is could not be closed; and a message that is
 * no JSON would end the process, because nobody waits for the promise it is read in. This is the same client with a hand
 * on the socket it makes.
 */
function reachable(live: Live, onUnreadable: () => void): { live: Live; terminate: () => void } {
  let socket: Socket | undefined;
  let isOver = false;
  const terminate = () => {
    isOver = true;
    if (socket?.ws?.terminate) socket.ws.terminate();
    else socket?.close();
  };
  const factory = live["webSocketFactory"] as
    | { create: (url: string, headers: unknown, callbacks: SocketCallbacks) => Socket }
    | undefined;
  if (!factory) return { live, terminate: () => undefined };
  const create = (url: string, headers: unknown, callbacks: SocketCallbacks) => {
    if (isOver) throw liveError("The model is not waited for any more.");
    const onmessage = (event: { data: unknown }) => {
      if (isReadable(event.data)) callbacks.onmessage(event);
      else onUnreadable();
    };
    socket = factory.create(url, headers, { ...callbacks, onmessage });
    return socket;
  };
  return { live: Object.create(live, { webSocketFactory: { value: { create } } }) as Live, terminate };
}

function isReadable(data: unknown): boolean {
  // A browser's; the client reads it itself.
  if (data instanceof Blob) return true;
  try {
    return typeof JSON.parse(String(data)) === "object";
  } catch {
    return false;
  }
}

/** The server's messages as ADK's responses: text in pieces and then whole, calls at once, usage with what it counts. */
function responses(modelVersion: string) {
  let spoken: { text: string; thought: boolean } | undefined;
  let usage: GenerateContentResponseUsageMetadata | undefined;

  function flush(): LlmResponse[] {
    if (!spoken) return [];
    const { text, thought } = spoken;
    spoken = undefined;
    return [{ content: { role: "model", parts: [{ text, ...(thought && { thought }) }] }, modelVersion }];
  }

  function* speak(parts: readonly Part[]): Generator<LlmResponse> {
    for (const part of parts) {
      // Calls are taken elsewhere; an answer to one is nothing a model gives.
      if (part.functionCall || part.functionResponse) continue;
      if (part.text === undefined) {
        yield* flush();
        yield { content: { role: "model", parts: [part] }, modelVersion };
        continue;
      }
      const thought = part.thought ?? false;
      if (spoken?.thought !== thought) yield* flush();
      spoken = { text: (spoken?.text ?? "") + part.text, thought };
      if (part.text) yield { content: { role: "model", parts: [part] }, partial: true, modelVersion };
    }
  }

  function takeUsage(): Pick<LlmResponse, "usageMetadata"> {
    const taken = usage;
    usage = undefined;
    return taken ? { usageMetadata: taken } : {};
  }

  return function* read({ message, calls, cancelled, owed }: Arrived): Generator<LlmResponse> {
    const { serverContent, usageMetadata, goAway } = message;
    if (usageMetadata) usage = toUsage(usageMetadata);
    yield* speak(serverContent?.modelTurn?.parts ?? []);
    const { inputTranscription, outputTranscription } = serverContent ?? {};
    if (inputTranscription?.text) yield { inputTranscription, partial: !inputTranscription.finished, modelVersion };
    if (outputTranscription?.text) yield { outputTranscription, partial: !outputTranscription.finished, modelVersion };
    if (calls.length > 0) {
      yield* flush();
      const parts = calls.map((functionCall): Part => ({ functionCall }));
      yield { content: { role: "model", parts }, modelVersion, ...takeUsage() };
    }
    if (cancelled.length > 0) yield notice({ cancelled });
    if (serverContent?.interrupted) {
      yield* flush();
      yield { interrupted: true, modelVersion };
    }
    if (serverContent?.turnComplete) {
      yield* flush();
      const { groundingMetadata, turnCompleteReason } = serverContent;
      yield {
        turnComplete: true,
        modelVersion,
        ...takeUsage(),
        ...(groundingMetadata && { groundingMetadata }),
        ...(turnCompleteReason && { finishReason: toFinishReason(turnCompleteReason) }),
        ...(owed.length > 0 && { customMetadata: { [owedKey]: owed } }),
      };
    }
    if (goAway) yield notice({ leaving: true });
  };
}

/** Live names many kinds of refusal, of what was asked and of what was said; the other wire calls them all the same. */
function toFinishReason(reason: TurnCompleteReason): FinishReason {
  switch (reason) {
    case TurnCompleteReason.TURN_COMPLETE_REASON_UNSPECIFIED:
    case TurnCompleteReason.NEED_MORE_INPUT:
      return FinishReason.STOP;
    case TurnCompleteReason.MALFORMED_FUNCTION_CALL:
      return FinishReason.MALFORMED_FUNCTION_CALL;
    default:
      return FinishReason.SAFETY;
  }
}

function toUsage({ responseTokenCount, ...counts }: UsageMetadata): GenerateContentResponseUsageMetadata {
  return { ...counts, candidatesTokenCount: responseTokenCount };
}
