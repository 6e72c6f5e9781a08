import type { Gemini } from "@google/adk";
import type { Live, LiveCallbacks, LiveConnectConfig, LiveServerMessage, Session } from "@google/genai";
import { BridgeError } from "../protocol/index.ts";

export interface Opening {
  model: string;
  connectMs: number;
  config: LiveConnectConfig;
  onmessage: (message: LiveServerMessage) => void;
  /** The connection is over, with an error unless it ended as it should. */
  onend: (error?: Error) => void;
}

/** Opens a session, or throws within `connectMs`; what was opened by then is closed. */
export async function openLive(
  gemini: Gemini,
  { model, connectMs, config, onmessage, onend }: Opening,
): Promise<Session> {
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
    const value: unknown = JSON.parse(String(data));
    return typeof value === "object" && value !== null;
  } catch {
    return false;
  }
}
