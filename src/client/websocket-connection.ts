import { BridgeError, signedOutCode } from "../protocol/errors.ts";
import type { ConnectionState } from "./connection-state.ts";
import { parseServerFrame, type ServerFrame } from "./server-frame.ts";
import { retries } from "./retries.ts";
import { watchNetwork } from "./watch-network.ts";
import { type Clock, clockOf } from "./clock.ts";
import type { Watched } from "./watched.ts";
import type { WebSocketConnectionOptions } from "./websocket-connection-options.ts";
import type { WebSocketHandlers, WebSocketLike } from "./websocket-like.ts";
import { websocketUrl } from "./websocket-url.ts";

export interface WebSocketConnectionEvents {
  /** A socket is open: send what the server has not received. */
  onOpen(): void;
  onFrame(frame: ServerFrame): void;
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
export class WebSocketConnection {
  readonly #options: WebSocketConnectionOptions;
  readonly #events: WebSocketConnectionEvents;
  readonly #state: Watched<ConnectionState>;
  readonly #clock: Clock;
  readonly #retries: ReturnType<typeof retries>;
  #socket: WebSocketLike | undefined;
  /** Identifies the socket in use, so that late events of an earlier one are ignored. */
  #attempt: object | undefined;
  #openedAt = 0;
  /** True while it is found out whether a fresh address helps after the server no longer knew the user. */
  #triesFreshUrl = false;
  #retry: unknown;
  #deadline: unknown;
  #nextPing: unknown;
  #stopWatching: (() => void) | undefined;

  constructor(options: WebSocketConnectionOptions, state: Watched<ConnectionState>, events: WebSocketConnectionEvents) {
    this.#options = options;
    this.#state = state;
    this.#events = events;
    this.#clock = clockOf(options);
    this.#retries = retries(options);
  }

  get isOpen(): boolean {
    return this.#state.get().status === "open" && this.#socket?.readyState === openState;
  }

  /** Connects, unless a socket is open or opening. Does not wait for the next attempt that is due. */
  open(): void {
    if (this.#attempt) return;
    // The browser knows before any deadline does.
    this.#stopWatching ??= watchNetwork({
      onOnline: () => {
        if (!this.#attempt) this.#connect();
      },
      onOffline: () => {
        if (this.#attempt) this.#lose("The browser is offline.");
      },
    });
    this.#connect();
  }

  /** Returns false if no socket is open. Then send it in `onOpen`. */
  send(frame: object): boolean {
    if (!this.isOpen) return false;
    this.#socket?.send(JSON.stringify({ version: "1.0", ...frame }));
    return true;
  }

  /** Closes the socket and opens another one at once. */
  replace(): void {
    this.#drop();
    this.#retries.reset();
    this.#connect();
  }

  /** Closes the socket and stops all timers and listeners. `open` connects again. */
  close(): void {
    this.#drop();
    this.#retries.reset();
    this.#triesFreshUrl = false;
    this.#unwatch();
    if (this.#state.get().status !== "idle") this.#become({ status: "closed" });
  }

  #connect(): void {
    this.#clock.timers.clearTimeout(this.#retry);
    this.#retry = undefined;
    const attempt = {};
    this.#attempt = attempt;
    const { status } = this.#state.get();
    this.#become({ status: status === "open" || status === "reconnecting" ? "reconnecting" : "connecting" });
    this.#expectWithin(() => this.#lose("The server did not reply in time."));
    this.#url().then(
      (url) => {
        if (this.#attempt === attempt) this.#begin(url, attempt);
      },
      (error: unknown) => {
        if (this.#attempt === attempt) this.#lose(String(error));
      },
    );
  }

  async #url(): Promise<string> {
    const { url } = this.#options;
    const given = typeof url === "function" ? await url() : url;
    return websocketUrl(given, (globalThis as { location?: { href: string } }).location?.href);
  }

  #begin(url: string, attempt: object): void {
    const constructor = this.#options.webSocket ?? globalThis.WebSocket;
    let socket: WebSocketLike;
    try {
      socket = new constructor(url);
    } catch (error) {
      this.#lose(String(error));
      return;
    }
    this.#socket = socket;
    const isMine = () => this.#attempt === attempt;
    Object.assign(socket, {
      onopen: () => {
        if (!isMine()) return;
        this.#openedAt = this.#clock.now();
        this.#triesFreshUrl = false;
        this.#become({ status: "open" });
        this.#ping();
        this.#events.onOpen();
      },
      onmessage: ({ data }) => {
        if (isMine()) this.#receive(data);
      },
      // A close event with the reason follows. Without a handler some implementations throw.
      onerror: () => undefined,
      onclose: ({ code, reason }) => {
        if (!isMine()) return;
        const why = `The connection was closed (${code}${reason ? `: ${reason}` : ""}).`;
        if (code === signedOutCode) this.#signOut();
        else if (finalCodes.has(code)) this.#giveUp(why);
        else this.#lose(why);
      },
    } satisfies WebSocketHandlers);
  }

  #receive(data: unknown): void {
    let frame: ServerFrame | undefined;
    try {
      if (typeof data !== "string") throw new Error("The server sent bytes where text was expected.");
      frame = parseServerFrame(data);
    } catch (error) {
      // A frame is missing from here on, so the next socket resumes before it.
      this.#lose(String(error));
      return;
    }
    this.#retries.reset();
    // Any frame shows that the server is alive.
    if (this.#deadline !== undefined) this.#expectPong();
    if (frame?.type === "pong") this.#onPong(Number(frame.timestamp));
    else if (frame) this.#events.onFrame(frame);
  }

  // ── pings ──────────────────────────────────────────────────────────────────────────────────────────────────────

  #ping(): void {
    this.send({ type: "ping", timestamp: this.#clock.now() });
    this.#expectPong();
    this.#clock.timers.clearTimeout(this.#nextPing);
    this.#nextPing = undefined;
  }

  #onPong(timestamp: number): void {
    this.#clock.timers.clearTimeout(this.#deadline);
    this.#deadline = undefined;
    const latencyMs = Math.max(0, this.#clock.now() - timestamp);
    this.#become({ status: "open", ...(Number.isFinite(latencyMs) && { latencyMs }) });
    this.#clock.timers.clearTimeout(this.#nextPing);
    this.#nextPing = this.#clock.timers.setTimeout(() => this.#ping(), this.#options.pingMs ?? 10_000);
  }

  #expectPong(): void {
    const unsent = this.#socket?.bufferedAmount ?? 0;
    this.#expectWithin(() => {
      // The ping waits after a large message on a slow line: go on waiting as long as the buffer changes.
      const left = this.#socket?.bufferedAmount ?? 0;
      if (left > 0 && left !== unsent) this.#expectPong();
      else this.#lose("The server did not reply in time.");
    });
  }

  #expectWithin(onLate: () => void): void {
    this.#clock.timers.clearTimeout(this.#deadline);
    this.#deadline = this.#clock.timers.setTimeout(onLate, this.#options.timeoutMs ?? 10_000);
  }

  // ── losing the socket ──────────────────────────────────────────────────────────────────────────────────────────

  #lose(why: string): void {
    if (this.#triesFreshUrl) return this.#signOut();
    const delay = this.#retries.next();
    if (delay === 0) return this.#giveUp(why);
    this.#drop();
    this.#retry = this.#clock.timers.setTimeout(() => this.#connect(), delay);
    this.#become({ status: "reconnecting", retryAt: this.#clock.now() + delay });
    this.#events.onLost();
  }

  #giveUp(why: string): void {
    // AI SDK takes a TypeError whose message has the word "network" for a lost connection, which can be resumed.
    this.#end("closed", new TypeError(`The network connection to the chat is lost. ${why}`));
  }

  /**
   * The server no longer knows the user. A `url` function may bring a fresh token instead of one that has expired, so it
   * gets one attempt, unless the last one was a moment ago. After that nothing connects again by itself, not even when the
   * network comes back: the person has to sign in first.
   */
  #signOut(): void {
    const isOld = this.#clock.now() - this.#openedAt >= freshMs;
    if (typeof this.#options.url === "function" && isOld && !this.#triesFreshUrl) {
      this.#triesFreshUrl = true;
      this.#drop();
      this.#events.onLost();
      this.#connect();
      return;
    }
    this.#triesFreshUrl = false;
    this.#unwatch();
    this.#end("signed-out", new BridgeError("unauthenticated", "You are signed out. Sign in again to go on."));
  }

  #end(status: "closed" | "signed-out", error: Error): void {
    this.#drop();
    this.#retries.reset();
    this.#become({ status });
    this.#events.onGiveUp(error);
  }

  #unwatch(): void {
    this.#stopWatching?.();
    this.#stopWatching = undefined;
  }

  #drop(): void {
    const socket = this.#socket;
    this.#attempt = undefined;
    this.#socket = undefined;
    for (const timer of [this.#retry, this.#deadline, this.#nextPing]) this.#clock.timers.clearTimeout(timer);
    this.#retry = this.#deadline = this.#nextPing = undefined;
    if (!socket) return;
    try {
      socket.close(1000);
    } catch {
      // It was closed before.
    }
  }

  #become(next: ConnectionState): void {
    const { latencyMs } = this.#state.get();
    const isOver = next.status === "closed" || next.status === "signed-out";
    this.#state.set({ ...(latencyMs !== undefined && !isOver && { latencyMs }), ...next });
  }
}
