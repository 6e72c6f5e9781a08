/** A server of `ws` alone: it sends the long reply in the same frames as ours, and sends any other frame back. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocketServer } from "ws";
import { words } from "../words.ts";
import { serve } from "./serve.ts";

const server = createServer();
const sockets = new WebSocketServer({ server, perMessageDeflate: false });
sockets.on("connection", (socket) => {
  socket.on("message", (data) => {
    const frame = (data as Buffer).toString();
    if (!frame.includes("talk")) {
      socket.send(frame);
      return;
    }
    let sequence = 0;
    const send = (chunk: object) => socket.send(`id: ${++sequence}\ndata: ${JSON.stringify(chunk)}\n\n`);
    send({ type: "start", messageId: "m" });
    send({ type: "start-step" });
    send({ type: "text-start", id: "t" });
    for (const delta of words) send({ type: "text-delta", id: "t", delta });
    send({ type: "text-end", id: "t" });
    send({ type: "finish-step" });
    send({ type: "finish" });
    socket.send("data: [DONE]\n\n");
  });
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
serve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
