import { once } from "node:events";
import { WebSocket } from "ws";

/** A client that does as little as possible: it decodes frames and tests them. */
export class SocketClient {
  readonly #socket: WebSocket;
  #onFrame: (frame: string) => void = () => {};
  #onLost: (error: Error) => void = () => {};

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on("message", (data) => this.#onFrame((data as Buffer).toString()));
    socket.on("close", (code, reason) =>
      this.#onLost(new Error(`The socket was closed: ${code} ${reason.toString()}`)),
    );
  }

  static async open(url: string): Promise<SocketClient> {
    const socket = new WebSocket(`${url.replace("http", "ws")}/live?sequence=1`, { perMessageDeflate: false });
    const client = new SocketClient(socket);
    await once(socket, "open");
    return client;
  }

  send(frame: object | string): void {
    this.#socket.send(typeof frame === "string" ? frame : JSON.stringify(frame));
  }

  /** The frames from now on, up to and including the first that fits. */
  until(fits: (frame: string) => boolean): Promise<string[]> {
    return new Promise((resolve, reject) => {
      const frames: string[] = [];
      this.#onLost = reject;
      this.#onFrame = (frame) => {
        frames.push(frame);
        if (fits(frame)) resolve(frames);
      };
    });
  }

  async close(): Promise<void> {
    this.#onLost = () => {};
    this.#socket.close();
    await once(this.#socket, "close");
  }
}

/** The frame with a message of the user. */
export function sayFrame(chat: string, text: string): object {
  return { type: "message", id: chat, messages: [{ role: "user", parts: [{ type: "text", text }] }] };
}

/** Whether a frame is the end of a turn. */
export function isDone(frame: string): boolean {
  return frame.endsWith("data: [DONE]\n\n");
}
