/** A client that does its worst, in a process of its own. The argument says where and what; it goes on until it is stopped. */
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";

/** What a client of the owner `mallory` can try. The numbers are those of the attacks that once worked. */
export type AttackName = "held bodies" | "large reads" | "attaches" | "many calls";

const { url, attack } = JSON.parse(process.argv[2] ?? "{}") as { url: string; attack: AttackName };
const headers = { "x-owner": "mallory", "content-type": "application/json" };

const heldBytes = 4 * 1024 * 1024;
/** All of a body but its last byte. */
const held = Buffer.alloc(heldBytes - 1, " ");

const attacks: Record<AttackName, () => void> = {
  "held bodies": () => void repeat(300, holdBody),
  "large reads": () => {
    void repeat(1, () => read("/stream/large/messages"));
    void repeat(2, () => read("/stream/long/messages"));
  },
  attaches: () => {
    for (let count = 0; count < 20; count++) attachForEver();
  },
  "many calls": () => void repeat(2, manyCalls),
};

process.on("disconnect", () => process.exit());
attacks[attack]();
process.send?.({ url });

/** Does the same again and again, several times at once. Refusals and errors do not stop it. */
async function repeat(atOnce: number, work: () => Promise<void>): Promise<void> {
  const forEver = async () => {
    for (;;) await work().catch(() => sleep(10));
  };
  await Promise.all(Array.from({ length: atOnce }, forEver));
}

/** Sends a body up to its last byte, and waits until the server has enough of it. */
function holdBody(): Promise<void> {
  const { port, hostname } = new URL(url);
  const head = `POST /stream HTTP/1.1\r\nHost: ${hostname}\r\nX-Owner: mallory\r\nContent-Type: application/json\r\nContent-Length: ${heldBytes}\r\n\r\n`;
  const socket = connect(Number(port), hostname);
  return new Promise((resolve) => {
    socket.on("error", () => resolve());
    socket.on("close", () => resolve());
    // The reply to a body that is not complete is a refusal. A patient attacker tries again later.
    socket.on("data", () => setTimeout(() => socket.destroy(), 1000));
    socket.write(head);
    socket.write(held);
  });
}

async function read(path: string): Promise<void> {
  const response = await fetch(url + path, { headers });
  await response.arrayBuffer();
}

async function manyCalls(): Promise<void> {
  const id = crypto.randomUUID();
  for (const words of ["many calls", "hello"]) {
    const messages = [{ role: "user", parts: [{ type: "text", text: words }] }];
    const body = JSON.stringify({ id, messages });
    await (await fetch(`${url}/stream`, { method: "POST", headers, body })).arrayBuffer();
  }
}

function attachForEver(): void {
  const socket = new WebSocket(`${url.replace("http", "ws")}/live?sequence=1`, { headers });
  const timer = setInterval(() => {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ type: "attach", id: "long", after: 0 }));
  }, 100);
  socket.on("message", () => undefined);
  socket.on("error", () => undefined);
  socket.on("close", () => {
    clearInterval(timer);
    setTimeout(attachForEver, 100);
  });
}
