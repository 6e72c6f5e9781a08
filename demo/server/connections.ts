import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";

/** The open connections to this process, so that a visitor of the demo can see what a lost one does. */
export interface Connections {
  /** Cuts every connection to a port, WebSockets too, without a goodbye. Returns how many. */
  cut(port: number): number;
  close(): void;
}

/** Begins to note connections. Node reports every accepted one, so no server has to be changed. */
export function trackConnections(): Connections {
  const open = new Set<Socket>();
  const note = (message: unknown) => {
    const { socket } = message as { socket: Socket };
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  };
  subscribe("net.server.socket", note);
  return {
    cut(port) {
      const sockets = [...open].filter(({ localPort }) => localPort === port);
      for (const socket of sockets) socket.destroy();
      return sockets.length;
    },
    close() {
      unsubscribe("net.server.socket", note);
      open.clear();
    },
  };
}
