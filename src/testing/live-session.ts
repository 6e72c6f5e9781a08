import { setTimeout as sleep } from "node:timers/promises";
import type { FunctionCall } from "@google/genai";
import type { RawData, WebSocket } from "ws";
import { createLiveConversation, type LiveConversation, type ModelTurn } from "./live-conversation.ts";
import type { LiveHost, LiveSession } from "./live-host.ts";
import {
  liveClientMessage,
  type LiveClientMessage,
  type LiveFunctionResponse,
  type LiveSetup,
} from "./live-messages.ts";
import { piecesToLiveSteps, type LiveStep } from "./pieces-to-live-steps.ts";
import type { RequestBody } from "./read-ask.ts";
import type { GeminiReplyEnd } from "./script.ts";

/** An answer that is being spoken. */
interface Answer {
  /** Waits, unless the answer is stopped first. */
  unlessStopped<T>(promise: PromiseLike<T>): Promise<T>;
  stop(end: GeminiReplyEnd): void;
}

const stopped = new Error("The answer was stopped.");

/**
 * One socket of the Live API, from its setup to its close.
 *
 *   message → conversation → ask → rule → pieces → steps → socket
 *
 * One answer is spoken at a time. The user's turn stops the one under way; responses wait until it has ended.
 */
export function openLiveSession(socket: WebSocket, host: LiveHost): LiveSession {
  const { strictPairing, delayMs, settings } = host;
  const messages: LiveClientMessage[] = [];
  const errors: string[] = [];
  let told = 0;
  let setup: LiveSetup | undefined;
  let closeCode: number | undefined;
  let closing = false;
  let conversation: LiveConversation = createLiveConversation();
  let current: Answer | undefined;

  /** Resolves when the system has it, so that what was sent before a drop does arrive. */
  const send = (message: Readonly<Record<string, unknown>>): Promise<void> =>
    new Promise((resolve) => {
      if (closing) resolve();
      else socket.send(JSON.stringify(message), () => resolve());
    });
  const tell = (message: Readonly<Record<string, unknown>>): void => void send(message);

  function leave(end: GeminiReplyEnd, how: () => void): void {
    current?.stop(end);
    current = undefined;
    how();
    closing = true;
  }
  const close = (code: number, reason: string, end: GeminiReplyEnd = "disconnected"): void =>
    leave(end, () => socket.close(code, toCloseReason(reason)));

  function fault(problem: string): void {
    errors.push(problem);
    if (strictPairing) close(1007, `Request contains an invalid argument: ${problem}.`);
  }

  function completeTurn(fields: object = {}, usageMetadata?: object): void {
    tell({ serverContent: { ...fields, turnComplete: true }, ...(usageMetadata && { usageMetadata }) });
    updateHandle();
  }

  function updateHandle(): void {
    if (setup?.sessionResumption === undefined) return;
    tell({ sessionResumptionUpdate: { newHandle: host.issueHandle(conversation), resumable: true } });
  }

  function interrupt(): void {
    if (current === undefined) return;
    current.stop("interrupted");
    current = undefined;
    tell({ serverContent: { interrupted: true } });
    completeTurn();
  }

  function startAnswer(): void {
    const { model, ...rest } = setup as LiveSetup;
    const promptTokens = conversation.tokens();
    const body = { ...rest, contents: conversation.contents() } as RequestBody;
    const asked = host.ask(body, toModelName(model), errors.slice(told));
    told = errors.length;
    const turn = conversation.beginTurn();
    const answer = createAnswer((end) => {
      turn.stop();
      asked.ended(end);
    });
    current = answer;
    const finish = (end: GeminiReplyEnd): void => {
      if (current !== answer) return;
      current = undefined;
      asked.ended(end);
      goOn();
    };
    answer
      .unlessStopped(asked.pieces())
      .then((pieces) => speak(piecesToLiveSteps(pieces, promptTokens), turn, answer))
      .then(finish, (error: unknown) => {
        if (error !== stopped) close(1011, error instanceof Error ? error.message : String(error), "sent");
      });
  }

  /** Speaks of the responses that came while the model was speaking. */
  function goOn(): void {
    if (current === undefined && !closing && conversation.takeDue()) startAnswer();
  }

  async function speak(steps: readonly LiveStep[], turn: ModelTurn, answer: Answer): Promise<GeminiReplyEnd> {
    let first = true;
    const breathe = async (): Promise<void> => {
      if (!first && delayMs > 0) await answer.unlessStopped(sleep(delayMs));
      first = false;
    };
    for (const step of steps) {
      switch (step.kind) {
        case "wait":
          await answer.unlessStopped(step.until);
          break;
        case "say":
          if (turn.waits()) break;
          await breathe();
          turn.say(step.part);
          await answer.unlessStopped(send({ serverContent: { modelTurn: { role: "model", parts: [step.part] } } }));
          break;
        case "call": {
          await breathe();
          const blocking = isBlocking(step.calls);
          const functionCalls = turn.call(step.calls, blocking);
          const usage = blocking && step.usage !== undefined ? { usageMetadata: step.usage } : {};
          await answer.unlessStopped(send({ toolCall: { functionCalls }, ...usage }));
          break;
        }
        case "cancelCalls": {
          const ids = conversation.cancelCalls();
          if (ids.length > 0) await answer.unlessStopped(send({ toolCallCancellation: { ids } }));
          break;
        }
        case "goAway":
          await answer.unlessStopped(send({ goAway: { timeLeft: step.timeLeft } }));
          break;
        case "close":
          close(step.code, step.reason, "sent");
          return "sent";
        case "drop":
          leave("dropped", () => socket.terminate());
          return "dropped";
        case "interrupted":
          turn.stop();
          tell({ serverContent: { interrupted: true } });
          completeTurn();
          return "interrupted";
        case "end":
          if (!turn.finish()) return "sent";
          tell({ serverContent: { generationComplete: true } });
          completeTurn(step.closing, step.usage);
          return "sent";
        default:
          return step satisfies never;
      }
    }
    return "sent";
  }

  function isBlocking(calls: readonly FunctionCall[]): boolean {
    if (settings.behavior !== undefined) return settings.behavior === "BLOCKING";
    const declared = (setup?.tools ?? []).flatMap((tool) => tool.functionDeclarations ?? []);
    const free = new Set(declared.flatMap(({ name, behavior }) => (behavior === "NON_BLOCKING" ? [name] : [])));
    return !calls.every(({ name = "" }) => free.has(name));
  }

  function begin(first: LiveSetup): void {
    setup = first;
    const { handle } = first.sessionResumption ?? {};
    if (settings.refuse !== undefined) {
      close(settings.refuse.code, settings.refuse.reason);
      return;
    }
    if (settings.silent === true) return;
    const known = handle === undefined ? conversation : host.takeUp(handle);
    if (known === undefined) {
      errors.push(`a handle that nobody was given: "${handle}"`);
      close(1008, "BidiGenerateContent session not found");
      return;
    }
    known.release?.();
    conversation = known;
    conversation.release = () => close(1008, "The session was resumed on another connection.");
    tell({ setupComplete: {} });
    updateHandle();
    goOn();
  }

  function hear(turns: NonNullable<RequestBody["contents"]>, complete: boolean): void {
    const parts = turns.flatMap((turn) => turn.parts ?? []);
    if (parts.some((part) => part["functionCall"] !== undefined || part["functionResponse"] !== undefined)) {
      fault("function calls and responses cannot be sent as client content");
      if (closing) return;
    }
    if (complete) interrupt();
    conversation.hear(turns);
    if (complete) startAnswer();
  }

  function respond(responses: readonly LiveFunctionResponse[]): void {
    for (const response of responses) {
      const taken = conversation.respond(response);
      if ("error" in taken) fault(taken.error);
      else if (taken.interrupts) interrupt();
      if (closing) return;
    }
    goOn();
  }

  function receive(message: LiveClientMessage): void {
    if (setup === undefined || message.setup !== undefined) {
      if (setup === undefined && message.setup !== undefined) begin(message.setup);
      else {
        errors.push("setup is not the first message, or not only the first");
        close(1007, "setup must be the first message and only the first");
      }
    } else if (settings.silent === true) {
      return;
    } else if (message.clientContent !== undefined) {
      hear(message.clientContent.turns ?? [], message.clientContent.turnComplete ?? false);
    } else if (message.realtimeInput?.text !== undefined) {
      hear([{ role: "user", parts: [{ text: message.realtimeInput.text }] }], true);
    } else if (message.toolResponse !== undefined) {
      respond(message.toolResponse.functionResponses ?? []);
    }
  }

  const session: LiveSession = {
    get setup() {
      return setup;
    },
    get model() {
      return setup && toModelName(setup.model);
    },
    messages,
    errors,
    get open() {
      return closeCode === undefined;
    },
    get closeCode() {
      return closeCode;
    },
    closed: new Promise((resolve) => socket.once("close", (code: number) => resolve(code))),
    send: tell,
    close: (code, reason = "") => close(code, reason),
    drop: () => leave("dropped", () => socket.terminate()),
  };

  socket.on("message", (data) => {
    if (closing) return;
    const message = parse(data);
    if (typeof message === "string") {
      errors.push(message);
      close(1007, message);
      return;
    }
    messages.push(message);
    receive(message);
    host.onMessage(message, session);
  });
  // What went wrong with the socket is told by the close that follows.
  socket.on("error", () => undefined);
  socket.once("close", (code: number) => {
    closeCode = code;
    leave("disconnected", () => undefined);
  });
  return session;
}

function createAnswer(onStop: (end: GeminiReplyEnd) => void): Answer {
  let over = false;
  let reject!: (reason: Error) => void;
  const stop = new Promise<never>((_, no) => {
    reject = no;
  });
  stop.catch(() => undefined);
  return {
    unlessStopped: async (promise) => {
      const value = await Promise.race([promise, stop]);
      // The promise may have been first by a hair, and the next word would follow the interruption.
      if (over) throw stopped;
      return value;
    },
    stop: (end) => {
      over = true;
      reject(stopped);
      onStop(end);
    },
  };
}

/** A message, or what is wrong with it. Text and binary frames are the same to Gemini. */
function parse(data: RawData): LiveClientMessage | string {
  let json: unknown;
  try {
    json = JSON.parse((data as Buffer).toString());
  } catch {
    return "Invalid JSON payload received.";
  }
  const parsed = liveClientMessage.safeParse(json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  return `Invalid value at '${issue?.path.join(".")}': ${issue?.message}.`;
}

function toModelName(model: string): string {
  return model.replace(/^models\//, "");
}

/** A close reason is at most 123 bytes long; a character is not cut in two. */
function toCloseReason(text: string): string {
  return new TextDecoder().decode(new TextEncoder().encode(text).subarray(0, 123), { stream: true });
}
