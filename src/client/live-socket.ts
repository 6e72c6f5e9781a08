import { parseFrame, type ServerFrame } from "./frame.ts";

/** What we use of a WebSocket; the browser's, Node's and `ws`'s fit. Its `on…` handlers are set, see {@link Handlers}. */
export interface WebSocketLike {
  readonly readyState: number;
  readonly bufferedAmount: number;
  send(data: string): void;
  close(code?: number, reason?: string): void;
}

/** Every implementation has them, and each types their events in its own way. */
interface Handlers {
  onopen(): void;
  onmessage(event: { data: unknown }): void;
  onerror(): void;
  onclose(event: { code: number; reason: string }): void;
}

/** The state of the connection, for a person to see. A new object at each change, so that it can be compared. */
export interface ConnectionState {
  status: "idle" | "connecting" | "open" | "reconnecting" | "closed";
  /** How long the last ping took. */
  latencyMs?: number;
  /** When the next attempt begins, by the transport's clock; absent while one is being made. */
  retryAt?: number;
}

export interface LiveSocketOptions {
  /** Where the server's `/live` is; `http:` becomes `ws:`, and a path is taken from the page's own address. */
  url: string | URL | (() => string | URL | Promise<string | URL>);
  /** Default: the global one. */
  webSocket?: new (url: string) => WebSocketLike;
  /** How often the connection is tried out. Default 10 seconds. */
  pingMs?: number;
  /** How long a handshake or an answer to a ping may take before the socket is replaced. Default 10 seconds. */
  timeoutMs?: number;
  /** How long a lost connection is sought before giving up. Default 60 seconds. */
  giveUpMs?: number;
  now?: () => number;
  random?: () => number;
  timers?: Timers;
}

export interface Timers {
  setTimeout(callback: () => void, ms: number): unknown;
  clearTimeout(timer: unknown): void;
}

export interface LiveSocketEvents {
  /** A socket is open: say on it what the server does not know. */
  onOpen(): void;
  onFrame(frame: ServerFrame): void;
  /** The socket is gone; another is being opened. */
  onLost(): void;
  /** There will be no other until somebody asks. */
  onGiveUp(error: Error): void;
}

const firstDelayMs = 250;
const longestDelayMs = 10_000;
const openState = 1;
/** The server understood us and does not want this: saying it again would not help. */
const finalCodes: ReadonlySet<number> = new Set([1003, 1007, 1008, 1009]);

/**
 * One connection that outlives its sockets: it opens when asked, measures itself, and after a loss tries again, at first
 * soon and then less often. It knows frames but not what they mean.
 */
export class LiveSocket {
  readonly #options: LiveSocketOptions;
  readonly #events: LiveSocketEvents;
  readonly #timers: Timers;
  readonly #now: () => number;
  readonly #listeners = new Set<() => void>();
  #state: ConnectionState = { status: "idle" };
  #socket: WebSocketLike | undefined;
  /** Names the attempt under way, so that what an earlier one still says is not heard. */
  #attempt: object | undefined;
  #failures = 0;
  #failingSince: number | undefined;
  #retry: unknown;
  #deadline: unknown;
  #nextPing: unknown;
  #isWatching = false;

  constructor(options: LiveSocketOptions, events: LiveSocketEvents) {
    this.#options = options;
    this.#events = events;
    this.#now = options.now ?? Date.now;
    this.#timers = options.timers ?? {
      setTimeout: (callback, ms) => setTimeout(callback, ms),
      clearTimeout: (timer) => clearTimeout(timer as number),
    };
  }

  getState = (): ConnectionState => this.#state;

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  get isOpen(): boolean {
    return this.#state.status === "open" && this.#socket?.readyState === openState;
  }

  /** Connects, if nothing is connected; a waiting attempt begins now, because somebody wants something. */
  open(): void {
    if (this.#attempt) return;
    this.#watchNetwork();
    this.#connect();
  }

  /** False where there is no open socket: then `onOpen` comes, and is the place to say it. */
  send(frame: object): boolean {
    if (!this.isOpen) return false;
    this.#socket?.send(JSON.stringify({ version: "1.0", ...frame }));
    return true;
  }

  /** Gives this socket up for another, at once. */
  replace(): void {
    this.#drop();
    this.#failures = 0;
    this.#failingSince = undefined;
    this.#connect();
  }

  /** Nothing is left running. `open` starts anew. */
  close(): void {
    this.#drop();
    this.#failures = 0;
    this.#failingSince = undefined;
    if (this.#isWatching) {
      globalThis.removeEventListener("online", this.#onOnline);
      globalThis.removeEventListener("offline", this.#onOffline);
    }
    this.#isWatching = false;
    if (this.#state.status !== "idle") this.#become({ status: "closed" });
  }

  #connect(): void {
    this.#timers.clearTimeout(this.#retry);
    this.#retry = undefined;
    const attempt = {};
    this.#attempt = attempt;
    const { status } = this.#state;
    this.#become({ status: status === "open" || status === "reconnecting" ? "reconnecting" : "connecting" });
    this.#expectWithin(() => this.#lose("The server did not answer in time."));
    this.#address().then(
      (url) => {
        if (this.#attempt === attempt) this.#begin(url, attempt);
      },
      (error: unknown) => {
        if (this.#attempt === attempt) this.#lose(String(error));
      },
    );
  }

  async #address(): Promise<string> {
    const { url } = this.#options;
    const given = typeof url === "function" ? await url() : url;
    const address = new URL(given, (globalThis as { location?: { href: string } }).location?.href);
    if (address.protocol === "http:") address.protocol = "ws:";
    if (address.protocol === "https:") address.protocol = "wss:";
    address.searchParams.set("sequence", "1");
    address.hash = "";
    return address.href;
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
        this.#become({ status: "open" });
        this.#ping();
        this.#events.onOpen();
      },
      onmessage: ({ data }) => {
        if (isMine()) this.#receive(data);
      },
      // A close event follows, with what there is to know. Without a handler some implementations throw.
      onerror: () => undefined,
      onclose: ({ code, reason }) => {
        if (!isMine()) return;
        const why = `The connection was closed (${code}${reason ? `: ${reason}` : ""}).`;
        if (finalCodes.has(code)) this.#giveUp(why);
        else this.#lose(why);
      },
    } satisfies Handlers);
  }

  #receive(data: unknown): void {
    let frame: ServerFrame | undefined;
    try {
      if (typeof data !== "string") throw new Error("The server sent bytes where text was expected.");
      frame = parseFrame(data);
    } catch (error) {
      // What comes after a frame that nobody understood cannot be trusted to be whole: it is asked for again.
      this.#lose(String(error));
      return;
    }
    this.#failures = 0;
    this.#failingSince = undefined;
    // Whatever comes shows that the other side is there.
    if (this.#deadline !== undefined) this.#expectPong();
    if (frame?.type === "pong") this.#onPong(Number(frame.timestamp));
    else if (frame) this.#events.onFrame(frame);
  }

  // ── is it alive ────────────────────────────────────────────────────────────────────────────────────────────────

  #ping(): void {
    this.send({ type: "ping", timestamp: this.#now() });
    this.#expectPong();
    this.#timers.clearTimeout(this.#nextPing);
    this.#nextPing = undefined;
  }

  #onPong(timestamp: number): void {
    this.#timers.clearTimeout(this.#deadline);
    this.#deadline = undefined;
    const latencyMs = Math.max(0, this.#now() - timestamp);
    this.#become({ status: "open", ...(Number.isFinite(latencyMs) && { latencyMs }) });
    this.#timers.clearTimeout(this.#nextPing);
    this.#nextPing = this.#timers.setTimeout(() => this.#ping(), this.#options.pingMs ?? 10_000);
  }

  #expectPong(): void {
    const unsent = this.#socket?.bufferedAmount ?? 0;
    this.#expectWithin(() => {
      // A large message on a slow line: our ping waits behind it, and silence says nothing as long as it moves.
      const left = this.#socket?.bufferedAmount ?? 0;
      if (left > 0 && left !== unsent) this.#expectPong();
      else this.#lose("The server did not answer in time.");
    });
  }

  #expectWithin(onLate: () => void): void {
    this.#timers.clearTimeout(this.#deadline);
    this.#deadline = this.#timers.setTimeout(onLate, this.#options.timeoutMs ?? 10_000);
  }

  // ── losing and finding ─────────────────────────────────────────────────────────────────────────────────────────

  #lose(why: string): void {
    const { giveUpMs = 60_000, random = Math.random } = this.#options;
    const now = this.#now();
    this.#failingSince ??= now;
    const left = this.#failingSince + giveUpMs - now;
    if (left <= 0) {
      this.#giveUp(why);
      return;
    }
    this.#drop();
    const longest = Math.min(longestDelayMs, firstDelayMs * 2 ** Math.min(this.#failures, 10));
    const delay = Math.min(left, longest * (0.5 + random() / 2));
    this.#failures += 1;
    this.#retry = this.#timers.setTimeout(() => this.#connect(), delay);
    this.#become({ status: "reconnecting", retryAt: now + delay });
    this.#events.onLost();
  }

  #giveUp(why: string): void {
    this.#drop();
    this.#failures = 0;
    this.#failingSince = undefined;
    this.#become({ status: "closed" });
    // AI SDK takes a TypeError that speaks of the network for a lost connection, which can be resumed.
    this.#events.onGiveUp(new TypeError(`The network connection to the chat is lost. ${why}`));
  }

  #drop(): void {
    const socket = this.#socket;
    this.#attempt = undefined;
    this.#socket = undefined;
    for (const timer of [this.#retry, this.#deadline, this.#nextPing]) this.#timers.clearTimeout(timer);
    this.#retry = this.#deadline = this.#nextPing = undefined;
    if (!socket) return;
    try {
      socket.close(1000);
    } catch {
      // It was closed already.
    }
  }

  #watchNetwork(): void {
    if (this.#isWatching || typeof globalThis.addEventListener !== "function") return;
    this.#isWatching = true;
    globalThis.addEventListener("online", this.#onOnline);
    globalThis.addEventListener("offline", this.#onOffline);
  }

  /** The browser knows before any deadline does. */
  readonly #onOffline = (): void => {
    if (this.#attempt) this.#lose("The browser is offline.");
  };

  readonly #onOnline = (): void => {
    if (!this.#attempt) this.#connect();
  };

  #become(next: ConnectionState): void {
    const { latencyMs } = this.#state;
    this.#state = { ...(latencyMs !== undefined && next.status !== "closed" && { latencyMs }), ...next };
    for (const listener of [...this.#listeners]) listener();
  }
}
