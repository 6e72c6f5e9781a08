import type { Gemini } from "@google/adk";
import type { Live, LiveCallbacks, LiveConnectConfig, LiveServerMessage, Session } from "@google/genai";
import { BridgeError } from "../../../protocol/index.ts";

export interface Opening {
  model: string;
  connectMs: number;
  config: LiveConnectConfig;
  onmessage: (message: LiveServerMessage) => void;
  /** The connection ended; with an error unless it was closed normally. */
  onend: (error?: Error) => void;
}

/** Opens a session, or throws within `connectMs` and closes the socket it had opened. */
export async function openLive(
  gemini: Gemini,
  { model, connectMs, config, onmessage, onend }: Opening,
): Promise<Session> {
  const socket = reachable(gemini.liveApiClient.live, {
    onRead: (message) => callbacks.onmessage(message),
    onUnreadable: () => unreadable(),
  });
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
    const session = await Promise.race([socket.live.connect({ model, config, callbacks }), failed]);
    if (!gemini.liveApiClient.vertexai) socket.onSetUp();
    return session;
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
  /** Only in Node. */
  ws?: { terminate?: () => void };
}
interface SocketCallbacks {
  onmessage: (event: { data: unknown }) => void;
}

/** What becomes of a message: it is given on as it was read, or it ends the connection. */
interface Readers {
  onRead: (message: LiveServerMessage) => void;
  onUnreadable: () => void;
}

/**
 * K21. The genai client returns a session only after its set-up, so a session that is never set up could not be closed; and
 * a message that is not JSON would end the process with an unhandled rejection. This wraps the client's socket factory, so
 * that the socket can be closed and its messages are read here first. After the set-up the client would only parse each
 * message a second time, so it gets no more of them, except on Vertex AI, whose messages it translates.
 */
function reachable(live: Live, { onRead, onUnreadable }: Readers) {
  let socket: Socket | undefined;
  let isOver = false;
  let isSetUp = false;
  const terminate = () => {
    isOver = true;
    if (socket?.ws?.terminate) socket.ws.terminate();
    else socket?.close();
  };
  const onSetUp = () => {
    isSetUp = true;
  };
  const factory = live["webSocketFactory"] as
    | { create: (url: string, headers: unknown, callbacks: SocketCallbacks) => Socket }
    | undefined;
  if (!factory) return { live, terminate: () => undefined, onSetUp };
  const create = (url: string, headers: unknown, callbacks: SocketCallbacks) => {
    if (isOver) throw liveError("Connecting to the model was given up.");
    const onmessage = (event: { data: unknown }) => {
      // Only in browsers; the client reads it itself.
      if (event.data instanceof Blob) return callbacks.onmessage(event);
      // The client would make a text of the bytes a second time.
      const data = String(event.data);
      const message = readMessage(data);
      if (!message) onUnreadable();
      else if (isSetUp) onRead(message);
      else callbacks.onmessage({ data });
    };
    socket = factory.create(url, headers, { ...callbacks, onmessage });
    return socket;
  };
  return { live: Object.create(live, { webSocketFactory: { value: { create } } }) as Live, terminate, onSetUp };
}

/** The message; undefined if it is not one. */
function readMessage(data: string): LiveServerMessage | undefined {
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === "object" && value !== null ? (value as LiveServerMessage) : undefined;
  } catch {
    return undefined;
  }
}
