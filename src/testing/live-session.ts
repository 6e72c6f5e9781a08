import type { WebSocket } from "ws";
import { keepLast } from "./keep-last.ts";
import { createLiveConversation, type LiveConversation } from "./live-conversation.ts";
import type { LiveHost, LiveSession } from "./live-host.ts";
import {
  parseLiveMessage,
  type LiveClientMessage,
  type LiveFunctionResponse,
  type LiveSetup,
} from "./live-messages.ts";
import { isBlocking, toModelName } from "./live-setup.ts";
import { piecesToLiveSteps } from "./pieces-to-live-steps.ts";
import { playLiveSteps, type LiveOutput } from "./play-live-steps.ts";
import type { RequestBody } from "./read-ask.ts";
import type { GeminiResponseEnd } from "./script.ts";
import { createStoppable, stopped, type Stoppable } from "./stoppable.ts";
import { toCloseReason } from "./to-close-reason.ts";

/** How many messages, and how many errors, of one session are kept. */
const maxMessages = 1000;

/**
 * One socket of the Live API, from its setup to its close.
 *
 *   message → conversation → request → rule → pieces → steps → socket
 *
 * There is one response at a time. A turn of the user stops the one under way; function responses wait until it has
 * ended.
 */
export function openLiveSession(socket: WebSocket, host: LiveHost): LiveSession {
  const { strictPairing, delayMs, settings } = host;
  const messages: LiveClientMessage[] = [];
  const errors: string[] = [];
  /** The errors since the last request. */
  let newErrors: string[] = [];
  let setup: LiveSetup | undefined;
  let closeCode: number | undefined;
  let closing = false;
  let conversation: LiveConversation = createLiveConversation();
  let current: Stoppable | undefined;

  const send = (message: Readonly<Record<string, unknown>>): Promise<void> =>
    new Promise((resolve) => {
      if (closing) resolve();
      else socket.send(JSON.stringify(message), () => resolve());
    });
  const sendNow = (message: Readonly<Record<string, unknown>>): void => void send(message);

  function end(responseEnd: GeminiResponseEnd, endSocket: () => void): void {
    current?.stop(responseEnd);
    current = undefined;
    endSocket();
    closing = true;
  }
  const close = (code: number, reason: string, responseEnd: GeminiResponseEnd = "disconnected"): void =>
    end(responseEnd, () => socket.close(code, toCloseReason(reason)));
  const drop = (): void => end("dropped", () => socket.terminate());

  function recordError(problem: string): void {
    keepLast(errors, problem, maxMessages);
    keepLast(newErrors, problem, maxMessages);
  }

  /** Records what Gemini would refuse, and refuses it as Gemini does if `strictPairing` is on. */
  function refuse(problem: string): void {
    recordError(problem);
    if (strictPairing) close(1007, `Request contains an invalid argument: ${problem}.`);
  }

  function completeTurn(fields: object = {}, usageMetadata?: object): void {
    sendNow({ serverContent: { ...fields, turnComplete: true }, ...(usageMetadata && { usageMetadata }) });
    updateHandle();
  }

  function interruptTurn(): void {
    sendNow({ serverContent: { interrupted: true } });
    completeTurn();
  }

  function updateHandle(): void {
    if (setup?.sessionResumption === undefined) return;
    sendNow({ sessionResumptionUpdate: { newHandle: host.issueHandle(conversation), resumable: true } });
  }

  function interrupt(): void {
    if (current === undefined) return;
    current.stop("interrupted");
    current = undefined;
    interruptTurn();
  }

  const output: LiveOutput = {
    send,
    interruptTurn,
    completeTurn,
    cancelCalls: () => conversation.cancelCalls(),
    isBlocking: (calls) => isBlocking(calls, setup, settings.behavior),
    close: (code, reason) => close(code, reason, "sent"),
    drop,
  };

  function startResponse({ model, ...rest }: LiveSetup): void {
    const promptTokens = conversation.tokens();
    const body = { ...rest, contents: conversation.contents() } as RequestBody;
    const request = host.startRequest(body, toModelName(model), newErrors);
    newErrors = [];
    const turn = conversation.beginTurn();
    const response = createStoppable((responseEnd) => {
      turn.stop();
      request.ended(responseEnd);
    });
    current = response;
    const finish = (responseEnd: GeminiResponseEnd): void => {
      if (current !== response) return;
      current = undefined;
      request.ended(responseEnd);
      respondToDue();
    };
    response
      .unlessStopped(request.pieces())
      .then((pieces) => playLiveSteps(piecesToLiveSteps(pieces, promptTokens), turn, { response, output, delayMs }))
      .then(finish, (error: unknown) => {
        if (error !== stopped) close(1011, error instanceof Error ? error.message : String(error), "sent");
      });
  }

  /** Responds to the function responses that came while the model was speaking. */
  function respondToDue(): void {
    if (current === undefined && !closing && setup !== undefined && conversation.takeDue()) startResponse(setup);
  }

  function begin(first: LiveSetup): void {
    setup = first;
    const { handle } = first.sessionResumption ?? {};
    if (settings.refuse !== undefined) {
      close(settings.refuse.code, settings.refuse.reason);
      return;
    }
    if (settings.silent === true) return;
    const resumed = handle === undefined ? conversation : host.resume(handle);
    if (resumed === undefined) {
      recordError(`the handle "${handle}", which was never issued or is no longer kept`);
      close(1008, "BidiGenerateContent session not found");
      return;
    }
    resumed.release?.();
    conversation = resumed;
    conversation.release = () => close(1008, "The session was resumed on another connection.");
    sendNow({ setupComplete: {} });
    updateHandle();
    respondToDue();
  }

  function takeTurns(turns: NonNullable<RequestBody["contents"]>, isComplete: boolean, first: LiveSetup): void {
    const parts = turns.flatMap((turn) => turn.parts ?? []);
    if (parts.some((part) => part["functionCall"] !== undefined || part["functionResponse"] !== undefined)) {
      refuse("function calls and responses cannot be sent as client content");
      if (closing) return;
    }
    if (isComplete) interrupt();
    conversation.addTurns(turns);
    if (isComplete) startResponse(first);
  }

  function takeResponses(responses: readonly LiveFunctionResponse[]): void {
    for (const response of responses) {
      const taken = conversation.respond(response);
      if ("error" in taken) refuse(taken.error);
      else if (taken.interrupts) interrupt();
      if (closing) return;
    }
    respondToDue();
  }

  function receive(message: LiveClientMessage): void {
    if (setup === undefined && message.setup !== undefined) {
      begin(message.setup);
    } else if (setup === undefined || message.setup !== undefined) {
      recordError("setup is not the first message, or not only the first");
      close(1007, "setup must be the first message and only the first");
    } else if (settings.silent === true) {
      return;
    } else if (message.clientContent !== undefined) {
      takeTurns(message.clientContent.turns ?? [], message.clientContent.turnComplete ?? false, setup);
    } else if (message.realtimeInput?.text !== undefined) {
      takeTurns([{ role: "user", parts: [{ text: message.realtimeInput.text }] }], true, setup);
    } else if (message.toolResponse !== undefined) {
      takeResponses(message.toolResponse.functionResponses ?? []);
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
    send: sendNow,
    close: (code, reason = "") => close(code, reason),
    drop,
  };

  socket.on("message", (data) => {
    if (closing) return;
    // Text and binary frames are the same to Gemini.
    const message = parseLiveMessage((data as Buffer).toString());
    if (typeof message === "string") {
      recordError(message);
      close(1007, message);
      return;
    }
    keepLast(messages, message, maxMessages);
    receive(message);
    host.onMessage(message, session);
  });
  // An error of the socket is followed by its close, which is where it is handled.
  socket.on("error", () => undefined);
  socket.once("close", (code: number) => {
    closeCode = code;
    end("disconnected", () => undefined);
  });
  return session;
}
