import type { ServerResponse } from "node:http";
import { toErrorBody } from "./api-error.ts";

/** One HTTP response, written the way the Gemini API writes it. Every promise rejects with `clientGone` when it has. */
export interface HttpWire {
  /** Waits for the promise, unless the client goes away first. */
  unlessGone<T>(promise: PromiseLike<T>): Promise<T>;
  /** Sends one event of a streamed response. */
  send(data: unknown): Promise<void>;
  /** Sends the whole response, or ends a streamed one. */
  end(data?: unknown): Promise<void>;
  /** Refuses: with an HTTP status before anything was sent, with an event inside the stream after that. */
  fail(code: number, message: string): Promise<void>;
  /** Breaks the connection. */
  drop(): void;
}

/** What is thrown where a client goes away before its response has ended. */
export const clientGone = new Error("The client went away.");

/** The wire of one response. */
export function openHttpWire(response: ServerResponse): HttpWire {
  const gone = new Promise<never>((_, reject) => response.once("close", () => reject(clientGone)));
  gone.catch(() => undefined);
  const unlessGone: HttpWire["unlessGone"] = (promise) => Promise.race([promise, gone]);

  // A chunk counts as sent when the operating system has it, so that chunks sent before a drop do arrive.
  const write = (chunk: string): Promise<void> =>
    unlessGone(
      new Promise((resolve, reject) => response.write(chunk, (error) => (error ? reject(clientGone) : resolve()))),
    );
  const finish = (chunk?: string): Promise<void> =>
    unlessGone(new Promise<void>((resolve) => response.end(chunk, () => resolve())));
  const event = (data: unknown): string => `data: ${JSON.stringify(data)}\r\n\r\n`;

  return {
    unlessGone,
    send: (data) => {
      if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" });
      return write(event(data));
    },
    end: (data) => {
      if (data === undefined) return finish();
      response.writeHead(200, { "content-type": "application/json; charset=UTF-8" });
      return finish(JSON.stringify(data));
    },
    fail: (code, message) => {
      const body = toErrorBody({ code, message });
      if (response.headersSent) return finish(event(body));
      response.writeHead(code, { "content-type": "application/json; charset=UTF-8" });
      return finish(JSON.stringify(body));
    },
    drop: () => response.destroy(),
  };
}
