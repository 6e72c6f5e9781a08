import type { UIMessageChunk } from "ai";
import { type ControlFrame, encodeSseEvent, sseDone } from "../../protocol/index.ts";
import type { SocketWriter } from "./socket-writer.ts";
import type { ChatOutput } from "./turn-joiner.ts";

/**
 * Writes the server's frames of the chat wire: server-sent events and `[DONE]` as text, control frames as JSON. A
 * numbered client also gets sequence numbers, and control frames that say where turns begin and wait.
 */
export class ChatFrameWriter {
  readonly #writer: Pick<SocketWriter, "send">;
  readonly #numbered: boolean;

  constructor(writer: Pick<SocketWriter, "send">, numbered: boolean) {
    this.#writer = writer;
    this.#numbered = numbered;
  }

  send(outputs: readonly ChatOutput[]): void {
    for (const output of outputs) {
      switch (output.kind) {
        case "chunk":
          this.event(output.chunk, output.sequence);
          break;
        case "done":
          this.done(output.sequence);
          break;
        case "turn": {
          const { turn, reply, sequence } = output;
          if (this.#numbered) this.control({ type: "turn", turn, reply, sequence });
          break;
        }
        case "withdrawn": {
          const { from, sequence } = output;
          if (this.#numbered) this.control({ type: "withdrawn", from, sequence });
          break;
        }
        case "parked": {
          const { turn, sequence, endsWithStep } = output;
          if (this.#numbered) this.control({ type: "parked", turn, sequence });
          else if (!endsWithStep) {
            // The end of a step is how a client that gets no `parked` knows that the reply waits.
            this.event({ type: "start-step" });
            this.event({ type: "finish-step" });
          }
          break;
        }
      }
    }
  }

  event(chunk: UIMessageChunk, sequence?: number): void {
    this.#writer.send(encodeSseEvent(chunk, this.#numbered ? sequence : undefined));
  }

  done(sequence?: number): void {
    this.#writer.send(this.#numbered && sequence !== undefined ? `id: ${sequence}\n${sseDone}` : sseDone);
  }

  control(frame: ControlFrame): void {
    this.#writer.send(JSON.stringify(frame));
  }
}
