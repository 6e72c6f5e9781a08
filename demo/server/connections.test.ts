import { once } from "node:events";
import { createServer, type AddressInfo, connect } from "node:net";
import { expect, test } from "vitest";
import { trackConnections } from "./connections.ts";

async function openServer() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const client = connect(port, "127.0.0.1");
  client.on("error", () => undefined);
  await once(server, "connection");
  return { server, port, client };
}

test("cuts the connections to one port and no others", async () => {
  const connections = trackConnections();
  const [one, other] = [await openServer(), await openServer()];
  const closed = once(one.client, "close");
  expect(connections.cut(one.port)).toBe(1);
  await closed;
  expect(connections.cut(one.port)).toBe(0);
  expect(other.client.destroyed).toBe(false);
  connections.close();
  expect(connections.cut(other.port)).toBe(0);
  other.client.destroy();
  one.server.close();
  other.server.close();
});
