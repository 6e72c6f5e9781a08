import type { EventEmitter } from "node:events";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { isSocketPath } from "../mount-path.ts";

type Listener = (incoming: IncomingMessage, stream: Duplex, head: Buffer) => void;

const byServer = new WeakMap<EventEmitter, UpgradeListeners>();

/**
 * Our listeners for the upgrades of one server. A server may have several, for agents with different base paths, and it
 * may have listeners of others, for example for the page's hot reload. Each handshake must get one reply.
 */
export class UpgradeListeners {
  readonly #server: EventEmitter;
  readonly #basePaths = new Map<Listener, string | undefined>();

  private constructor(server: EventEmitter) {
    this.#server = server;
  }

  static of(server: EventEmitter): UpgradeListeners {
    const known = byServer.get(server) ?? new UpgradeListeners(server);
    byServer.set(server, known);
    return known;
  }

  /** Throws if two listeners would take the same handshakes. */
  add(listener: Listener, basePath: string | undefined): void {
    const clashes = [...this.#basePaths.values()].some(
      (other) => other === undefined || basePath === undefined || withoutSlash(other) === withoutSlash(basePath),
    );
    if (clashes)
      throw new Error(
        "This server has a /live already. Close that one first, or give each a basePath of its own in the options.",
      );
    this.#basePaths.set(listener, basePath);
    this.#server.on("upgrade", listener);
  }

  remove(listener: Listener): void {
    this.#basePaths.delete(listener);
    this.#server.off("upgrade", listener);
  }

  /**
   * True if the listener has to reply to a handshake for this target. Targets of no one are refused by our first listener,
   * unless the server has listeners of others, which may know them.
   */
  isFor(listener: Listener, target: string): boolean {
    const [path = ""] = target.split("?");
    const owner = [...this.#basePaths].find(([, basePath]) => isSocketPath(path, basePath))?.[0];
    if (owner) return owner === listener;
    const [first] = this.#basePaths.keys();
    return listener === first && this.#server.listenerCount("upgrade") === this.#basePaths.size;
  }
}

function withoutSlash(path: string): string {
  return path.replace(/\/+$/, "");
}
