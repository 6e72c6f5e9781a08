import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import type { LiveConversation } from "./live-conversation.ts";
import type { LiveClientMessage } from "./live-messages.ts";
import type { LiveHost, LiveSession, LiveSettings } from "./live-host.ts";
import { openLiveSession } from "./live-session.ts";
import { numbered } from "./numbered.ts";

/** The live sessions of a scripted Gemini, for tests that look and wait. */
export interface ScriptedLive {
  /** Every socket in order, also those that were refused or are closed. */
  readonly sessions: readonly LiveSession[];
  /** How many sockets are open now. */
  readonly open: number;
  /** What was wrong in any session. */
  readonly errors: readonly string[];
  /** The nth socket, counted from one, when its setup has come, or its end without one. */
  waitForSession(number: number): Promise<LiveSession>;
  /** The first message of any client that fits, also one that came before. */
  waitForMessage(fits: (message: LiveClientMessage, session: LiveSession) => boolean): Promise<LiveClientMessage>;
}

/** The WebSocket half of a scripted Gemini. */
export interface LiveWire extends ScriptedLive {
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Ends every session, forgets them, and behaves as told from now on. */
  reset(settings: LiveSettings, reason: string): void;
  close(reason: string): Promise<void>;
}

interface Waiter {
  readonly fits: (message: LiveClientMessage, session: LiveSession) => boolean;
  readonly resolve: (message: LiveClientMessage) => void;
  readonly reject: (reason: Error) => void;
}

const livePath = /^\/+ws\/google\.ai\.generativelanguage\.v1(?:alpha|beta)\.GenerativeService\.BidiGenerateContent$/;

export function createLiveWire(
  host: Pick<LiveHost, "ask" | "delayMs" | "strictPairing">,
  maxPayload: number,
  initial: LiveSettings,
): LiveWire {
  const server = new WebSocketServer({ noServer: true, maxPayload, perMessageDeflate: false });
  const sessions: LiveSession[] = [];
  let settings = initial;
  let setups = numbered<LiveSession>();
  let waiters: Waiter[] = [];
  let issued = 0;
  const handles = new Map<string, LiveConversation>();

  server.on("connection", (socket) => {
    const number = sessions.length + 1;
    const current = setups;
    const session = openLiveSession(socket, {
      ...host,
      settings,
      issueHandle: (conversation) => {
        issued += 1;
        const handle = `handle-${issued}`;
        handles.set(handle, conversation);
        return handle;
      },
      takeUp: (handle) => handles.get(handle),
      onMessage: (message, from) => {
        if (from.messages.length === 1) current.settle(number, from);
        const found = waiters.filter(({ fits }) => fits(message, from));
        waiters = waiters.filter((waiter) => !found.includes(waiter));
        for (const { resolve } of found) resolve(message);
      },
    });
    sessions.push(session);
    void session.closed.then(() => current.settle(number, session));
  });

  function forget(reason: string): void {
    for (const session of sessions) session.drop();
    sessions.length = 0;
    handles.clear();
    setups.giveUp(new Error(reason));
    setups = numbered();
    for (const { reject } of waiters) reject(new Error(reason));
    waiters = [];
  }

  return {
    sessions,
    get open() {
      return sessions.filter(({ open }) => open).length;
    },
    get errors() {
      return sessions.flatMap(({ errors }) => errors);
    },
    waitForSession: (number) => setups.wait(number),
    waitForMessage: (fits) => {
      for (const session of sessions) {
        const known = session.messages.find((message) => fits(message, session));
        if (known !== undefined) return Promise.resolve(known);
      }
      const coming = new Promise<LiveClientMessage>((resolve, reject) => waiters.push({ fits, resolve, reject }));
      // Nobody may be waiting any more; whoever is still hears of the rejection.
      coming.catch(() => undefined);
      return coming;
    },
    upgrade: (request, socket, head) => {
      const [path = ""] = (request.url ?? "/").split("?", 1);
      if (livePath.test(path)) {
        server.handleUpgrade(request, socket, head, (accepted) => server.emit("connection", accepted, request));
      } else {
        socket.on("error", () => undefined);
        // Not left to the client: an upgraded socket that nobody ends would keep the server from closing.
        socket.end("HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n", () => socket.destroy());
      }
    },
    reset: (next, reason) => {
      settings = next;
      forget(reason);
    },
    close: async (reason) => {
      forget(reason);
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
