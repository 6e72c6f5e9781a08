/** A small balancer: each connection goes to any of the nodes, or to another one if that node refuses it. */
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import type { Random } from "./random.ts";

export interface Balancer {
  url: string;
  /** Breaks all connections of clients. */
  cut(): void;
  close(): Promise<void>;
}

export async function openBalancer(targets: () => readonly string[], random: Random): Promise<Balancer> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    keep(sockets, client);
    const tried = new Set<string>();
    const tryNext = () => {
      const left = targets().filter((target) => !tried.has(target));
      const target = left[random.below(left.length)];
      if (target === undefined || client.destroyed) return void client.destroy();
      tried.add(target);
      const { port, hostname } = new URL(target);
      const node = connect(Number(port), hostname);
      keep(sockets, node);
      node.once("connect", () => {
        node.off("error", tryNext);
        client.pipe(node).pipe(client);
        client.once("close", () => node.destroy());
        node.once("close", () => client.destroy());
      });
      node.once("error", tryNext);
    };
    tryNext();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    async close() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function keep(sockets: Set<Socket>, socket: Socket): void {
  sockets.add(socket);
  socket.setNoDelay(true);
  socket.on("error", () => socket.destroy());
  socket.once("close", () => sockets.delete(socket));
}
