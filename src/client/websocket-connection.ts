import { BridgeError } from "../protocol/errors.ts";
import { signedOutCode } from "../protocol/signed-out-code.ts";
import type { ConnectionState } from "./connection-state.ts";
import { retries } from "./retries.ts";
import { parseServerFrame, type ServerFrame } from "./server-frame.ts";
import { watchNetwork } from "./watch-network.ts";
import type { Watched } from "./watched.ts";
import type { WebSocketConnectionOptions } from "./websocket-connection-options.ts";
import type { WebSocketHandlers, WebSocketLike } from "./websocket-like.ts";
import { websocketUrl } from "./websocket-url.ts";

export interface WebSocketConnectionEvents {
  /** A socket is open: send what the server has not received. */
  onOpen(): void;
  onFrame(frame: Exclude<ServerFrame, { type: "pong" }>): void;
  /** The socket is lost; another one will be opened. */
  onLost(): void;
  /** The socket is lost, and no other is opened until `open` is called. */
  onGiveUp(error: Error): void;
}

const openState = 1;
/** Close codes that say that the client's frames are at fault: to connect again would not help. */
const finalCodes: ReadonlySet<number> = new Set([1003, 1007, 1008, 1009]);
/** A token that was accepted this long ago may have expired. */
const freshMs = 30_000;

/**
 * A connection that outlives its sockets: it opens on demand, pings the server, and after a loss connects again, at first
 * soon and then less often. It parses frames and passes them on.
 */
export function websocketConnection(
  options: WebSocketConnectionOptions,
  state: Watched<ConnectionState>,
  events: WebSocketConnectionEvents,
) {
  const { url, pingMs = 10_000, timeoutMs = 10_000 } = options;
  const { now, timers, next: nextDelay, reset } = retries(options);
  /** The socket in use, or the attempt to open it. Late events of an earlier one are ignored. */
  let attempt: { socket?: WebSocketLike } | undefined;
  let openedAt = 0;
  /** True while it is found out whether a fresh address helps after the server no longer knew the user. */
  let triesFreshUrl = false;
  /** What comes next by itself: another attempt, the next ping, or the loss of a socket from which nothing comes. */
  let timer: unknown;
  let awaitsPong = false;
  let stopWatching: (() => void) | undefined;

  const isOpen = () => state.get().status === "open" && attempt?.socket?.readyState === openState;

  function become(next: ConnectionState): void {
    const { latencyMs } = state.get();
    const isOver = next.status === "closed" || next.status === "signed-out";
    state.set({ ...(latencyMs !== undefined && !isOver && { latencyMs }), ...next });
  }

  function after(ms: number, callback: () => void): void {
    timers.clearTimeout(timer);
    timer = timers.setTimeout(callback, ms);
  }

  /** Returns false if no socket is open. Then send it in `onOpen`. */
  function send(frame: object): boolean {
    if (!isOpen()) return false;
    attempt?.socket?.send(JSON.stringify({ version: "1.0", ...frame }));
    return true;
  }

  // ── opening a socket ───────────────────────────────────────────────────────────────────────────────────────────

  function connect(): void {
    const mine = {};
    attempt = mine;
    const { status } = state.get();
    become({ status: status === "open" || status === "reconnecting" ? "reconnecting" : "connecting" });
    expectReply();
    const given = async () => (typeof url === "function" ? url() : url);
    given()
      .then((address) => {
        if (attempt === mine) begin(websocketUrl(address, globalThis.location?.href), mine);
      })
      .catch((error: unknown) => {
        if (attempt === mine) lose(String(error));
      });
  }

  function begin(address: string, mine: { socket?: WebSocketLike }): void {
    const socket = new (options.webSocket ?? globalThis.WebSocket)(address);
    mine.socket = socket;
    const isMine = () => attempt === mine;
    Object.assign(socket, {
      onopen() {
        if (!isMine()) return;
        openedAt = now();
        triesFreshUrl = false;
        become({ status: "open" });
        ping();
        events.onOpen();
      },
      onmessage({ data }) {
        if (isMine()) receive(data);
      },
      // A close event with the reason follows. Without a handler some implementations throw.
      onerror: () => undefined,
      onclose({ code, reason }) {
        if (!isMine()) return;
        const why = `The connection was closed (${code}${reason ? `: ${reason}` : ""}).`;
        if (code === signedOutCode) signOut();
        else if (finalCodes.has(code)) giveUp(why);
        else lose(why);
      },
    } satisfies WebSocketHandlers);
  }

  function receive(data: unknown): void {
    let frame: ServerFrame | undefined;
    try {
      if (typeof data !== "string") throw new Error("The server sent bytes where text was expected.");
      frame = parseServerFrame(data);
    } catch (error) {
      // A frame is missing from here on, so the next socket resumes before it.
      lose(String(error));
      return;
    }
    reset();
    // Any frame shows that the server is alive.
    if (awaitsPong) expectReply();
    if (frame?.type === "pong") onPong(Number(frame.timestamp));
    else if (frame) events.onFrame(frame);
  }

  // ── pings ──────────────────────────────────────────────────────────────────────────────────────────────────────

  function ping(): void {
    send({ type: "ping", timestamp: now() });
    awaitsPong = true;
    expectReply();
  }

  function onPong(timestamp: number): void {
    const latencyMs = Math.max(0, now() - timestamp);
    become({ status: "open", ...(Number.isFinite(latencyMs) && { latencyMs }) });
    awaitsPong = false;
    after(pingMs, ping);
  }

  function expectReply(): void {
    const unsent = attempt?.socket?.bufferedAmount;
    after(timeoutMs, () => {
      // The ping waits after a large message on a slow line: go on waiting as long as the buffer changes.
      const left = attempt?.socket?.bufferedAmount;
      if (left && left !== unsent) expectReply();
      else lose("The server did not reply in time.");
    });
  }

  // ── losing the socket ──────────────────────────────────────────────────────────────────────────────────────────

  function lose(why: string): void {
    if (triesFreshUrl) return signOut();
    const delay = nextDelay();
    if (delay === 0) return giveUp(why);
    drop();
    after(delay, connect);
    become({ status: "reconnecting", retryAt: now() + delay });
    events.onLost();
  }

  function giveUp(why: string): void {
    // AI SDK takes a TypeError whose message has the word "network" for a lost connection, which can be resumed.
    end("closed", new TypeError(`The network connection to the chat is lost. ${why}`));
  }

  /**
   * The server no longer knows the user. A `url` function may bring a fresh token instead of one that has expired, so it
   * gets one attempt, unless the last one was a moment ago. After that nothing connects again by itself, not even when the
   * network comes back: the person has to sign in first.
   */
  function signOut(): void {
    if (typeof url === "function" && now() - openedAt >= freshMs && !triesFreshUrl) {
      triesFreshUrl = true;
      drop();
      events.onLost();
      connect();
      return;
    }
    unwatch();
    end("signed-out", new BridgeError("unauthenticated", "You are signed out. Sign in again to go on."));
  }

  function end(status: "closed" | "signed-out", error: Error): void {
    startAgain();
    become({ status });
    events.onGiveUp(error);
  }

  function unwatch(): void {
    stopWatching?.();
    stopWatching = undefined;
  }

  function startAgain(): void {
    drop();
    reset();
    triesFreshUrl = false;
  }

  function drop(): void {
    const socket = attempt?.socket;
    attempt = undefined;
    awaitsPong = false;
    timers.clearTimeout(timer);
    try {
      socket?.close(1000);
    } catch {
      // It was closed before.
    }
  }

  return {
    isOpen,
    send,

    /** Connects, unless a socket is open or opening. Does not wait for the next attempt that is due. */
    open(): void {
      if (attempt) return;
      // The browser knows before any deadline does.
      stopWatching ??= watchNetwork({
        onOnline() {
          if (!attempt) connect();
        },
        onOffline() {
          if (attempt) lose("The browser is offline.");
        },
      });
      connect();
    },

    /** Closes the socket and opens another one at once. */
    replace(): void {
      drop();
      reset();
      connect();
    },

    /** Closes the socket and stops all timers and listeners. `open` connects again. */
    close(): void {
      startAgain();
      unwatch();
      if (state.get().status !== "idle") become({ status: "closed" });
    },
  };
}
