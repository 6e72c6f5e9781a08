/** What people's clients send in a torture run, each request over a connection of its own, so that it may reach any node. */
import { request as httpRequest } from "node:http";
import { WebSocket } from "ws";

export interface Reply {
  status: number;
  body: string;
}

/** How a message went. `isRecorded`: the server has acknowledged it. `isOver`: the whole reply came. */
export interface Sent {
  isRecorded: boolean;
  isOver: boolean;
}

export const wires = ["SSE", "chat wire", "AI SDK wire"] as const;
export type Wire = (typeof wires)[number];

export class Client {
  readonly #url: string;
  readonly #timeoutMs: number;

  constructor(url: string, timeoutMs: number) {
    this.#url = url;
    this.#timeoutMs = timeoutMs;
  }

  /** Undefined if no whole response came: the connection was cut, or it took too long. */
  async request(method: "GET" | "POST", path: string, body?: unknown): Promise<Reply | undefined> {
    const { status, body: received, isWhole } = await this.#send(method, path, body);
    return isWhole ? { status, body: received } : undefined;
  }

  /** Sends what `POST /stream` takes, over any wire. `isAgain` says that it may have arrived before. */
  async submit(wire: Wire, body: object, isAgain = false): Promise<Sent> {
    if (wire !== "SSE") return this.#overSocket(wire, body, isAgain);
    const { status, body: received } = await this.#send("POST", "/stream", body);
    return { isRecorded: status === 200, isOver: received.includes("data: [DONE]") };
  }

  #send(method: string, path: string, body?: unknown): Promise<Reply & { isWhole: boolean }> {
    return new Promise((resolve) => {
      const received = { status: 0, body: "", isWhole: false };
      const request = httpRequest(
        `${this.#url}${path}`,
        { method, agent: false, headers: body === undefined ? {} : { "content-type": "application/json" } },
        (response) => {
          received.status = response.statusCode ?? 0;
          response.setEncoding("utf8");
          response.on("data", (piece: string) => (received.body += piece));
          response.on("end", () => (received.isWhole = true));
          response.on("error", () => undefined);
          response.on("close", () => end());
        },
      );
      const timer = setTimeout(() => request.destroy(), this.#timeoutMs);
      const end = () => {
        clearTimeout(timer);
        resolve(received);
      };
      request.on("error", end);
      request.on("close", end);
      request.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  #overSocket(wire: Exclude<Wire, "SSE">, body: object, isAgain: boolean): Promise<Sent> {
    return new Promise((resolve) => {
      const sent: Sent = { isRecorded: false, isOver: false };
      const socket = new WebSocket(`${this.#url.replace("http", "ws")}/live?sequence=1`, { perMessageDeflate: false });
      const timer = setTimeout(() => socket.terminate(), this.#timeoutMs);
      const end = () => {
        clearTimeout(timer);
        resolve(sent);
      };
      socket.on("error", () => undefined);
      socket.on("close", end);
      socket.on("open", () => {
        const requestId = crypto.randomUUID();
        const frame =
          wire === "chat wire"
            ? { type: "message", ...body, requestId, ...(isAgain && { resend: true }) }
            : { type: "send", ...body, requestId };
        socket.send(JSON.stringify(frame));
      });
      socket.on("message", (data) => {
        const frame = (data as Buffer).toString();
        const read = wire === "chat wire" ? readChatFrame(frame) : readSdkFrame(frame);
        sent.isRecorded ||= read === "recorded";
        sent.isOver ||= read === "over";
        // The frame that acknowledges the message may come after the first ones of its turn.
        if ((sent.isOver && sent.isRecorded) || read === "refused") socket.close();
      });
    });
  }
}

type Read = "recorded" | "over" | "refused" | undefined;

function readChatFrame(frame: string): Read {
  if (!frame.startsWith("{")) return frame.endsWith("data: [DONE]\n\n") ? "over" : undefined;
  switch ((JSON.parse(frame) as { type: string }).type) {
    case "accepted":
      return "recorded";
    case "parked":
      return "over";
    case "refused":
      return "refused";
    default:
      return undefined;
  }
}

function readSdkFrame(frame: string): Read {
  switch ((JSON.parse(frame) as { type: string }).type) {
    case "chunk":
      return "recorded";
    case "end":
      return "over";
    case "error":
      return "refused";
    default:
      return undefined;
  }
}
