import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import { keepLast } from "./keep-last.ts";
import type { LiveConversation } from "./live-conversation.ts";
import type { LiveHost, LiveSession, LiveSettings } from "./live-host.ts";
import type { LiveClientMessage } from "./live-messages.ts";
import { openLiveSession } from "./live-session.ts";
import { numbered } from "./numbered.ts";

/** The live sessions of a scripted Gemini, for tests that inspect them or wait for them. */
export interface ScriptedLive {
  /** The last sessions in order, at most `maxRequests`, also those that were refused or are closed. */
  readonly sessions: readonly LiveSession[];
  /** How many sessions are open now, whether or not they are still in `sessions`. */
  readonly open: number;
  /** The errors of all `sessions`. */
  readonly errors: readonly string[];
  /**
   * The nth session, counted from one, when its setup has come or when it has closed without one. Rejects when it is no
   * longer kept.
   */
  waitForSession(number: number): Promise<LiveSession>;
  /** The first client message that fits, in any session. Messages that came before and are still kept count too. */
  waitForMessage(fits: (message: LiveClientMessage, session: LiveSession) => boolean): Promise<LiveClientMessage>;
}

/** The WebSocket half of a scripted Gemini. */
export interface LiveWire extends ScriptedLive {
  /** Accepts a WebSocket at the path of the Live API and refuses any other. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Drops and forgets all sessions. New ones follow the new settings. */
  reset(settings: LiveSettings, reason: string): void;
  close(reason: string): Promise<void>;
}

interface Waiter {
  readonly fits: (message: LiveClientMessage, session: LiveSession) => boolean;
  readonly resolve: (message: LiveClientMessage) => void;
  readonly reject: (reason: Error) => void;
}

const livePath = /^\/+ws\/google\.ai\.generativelanguage\.v1(?:alpha|beta)\.GenerativeService\.BidiGenerateContent$/;

/** How many handles can be resumed. Each holds its whole conversation. */
const maxHandles = 100;

/** Creates the live wire, which keeps the last `maxSessions` sessions. */
export function createLiveWire(
  host: Pick<LiveHost, "startRequest" | "delayMs" | "strictPairing">,
  { maxPayload, maxSessions }: { maxPayload: number; maxSessions: number },
  initial: LiveSettings,
): LiveWire {
  const server = new WebSocketServer({ noServer: true, maxPayload, perMessageDeflate: false });
  const sessions: LiveSession[] = [];
  /** The sessions to drop at the end, which may be more than are kept. */
  const openSessions = new Set<LiveSession>();
  const explainForgotten = (number: number): string =>
    `Live session ${number} is no longer kept: a scripted Gemini keeps the last ${maxSessions} (maxRequests).`;
  let settings = initial;
  let count = 0;
  let setups = numbered<LiveSession>(explainForgotten);
  let waiters: Waiter[] = [];
  let issued = 0;
  const handles = new Map<string, LiveConversation>();

  server.on("connection", (socket) => {
    count += 1;
    const number = count;
    const current = setups;
    const session = openLiveSession(socket, {
      ...host,
      settings,
      issueHandle: (conversation) => {
        issued += 1;
        const handle = `handle-${issued}`;
        handles.set(handle, conversation);
        handles.delete(`handle-${issued - maxHandles}`);
        return handle;
      },
      resume: (handle) => handles.get(handle),
      onMessage: (message, from) => {
        if (from.messages.length === 1) current.settle(number, from);
        const found = waiters.filter(({ fits }) => fits(message, from));
        waiters = waiters.filter((waiter) => !found.includes(waiter));
        for (const { resolve } of found) resolve(message);
      },
    });
    keepLast(sessions, session, maxSessions);
    current.forget(number - maxSessions);
    openSessions.add(session);
    void session.closed.then(() => {
      openSessions.delete(session);
      current.settle(number, session);
    });
  });

  function forget(reason: string): void {
    for (const session of openSessions) session.drop();
    sessions.length = 0;
    count = 0;
    handles.clear();
    setups.giveUp(new Error(reason));
    setups = numbered(explainForgotten);
    for (const { reject } of waiters) reject(new Error(reason));
    waiters = [];
  }

  return {
    sessions,
    get open() {
      return [...openSessions].filter(({ open }) => open).length;
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
      // Without this, a rejection that no test waits for would end the process.
      coming.catch(() => undefined);
      return coming;
    },
    upgrade: (request, socket, head) => {
      const [path = ""] = (request.url ?? "/").split("?", 1);
      if (livePath.test(path)) {
        server.handleUpgrade(request, socket, head, (accepted) => server.emit("connection", accepted, request));
      } else {
        socket.on("error", () => undefined);
        // The socket is destroyed here, because one that its client leaves open would keep the server from closing.
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
