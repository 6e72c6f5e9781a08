import type { UIMessage, UIMessageChunk } from "ai";
import type { LogEntry } from "../../agent/index.ts";
import type { View } from "./view.ts";
import { viewOf, type ViewOptions } from "./view-of.ts";

/** Whose view it is. */
type Reader = Pick<ViewOptions, "bridge" | "owner" | "confirmation">;
type FirstTurn = Pick<ViewOptions, "replay" | "chatId">;

/**
 * The view of a reader that follows a chat turn after turn: each turn gets a `viewOf` of its own. A view depends on the
 * whole turn, so entries that the client already has are passed to `skip`.
 */
export class TurnView {
  readonly #reader: Reader;
  /** What belongs to the first turn only. */
  #first: FirstTurn | undefined;
  #view: View | undefined;
  #skipped: UIMessageChunk[] | undefined;

  constructor(reader: Reader, first?: FirstTurn) {
    this.#reader = reader;
    this.#first = first;
  }

  /** An entry that the client has already. */
  skip(entry: LogEntry): void {
    if (entry.kind === "begin") this.#skipped = undefined;
    // In the log's own dialect no chunk depends on an earlier one.
    else if (entry.kind === "chunk" && this.#reader.confirmation !== "approval")
      (this.#skipped ??= []).push(entry.chunk);
  }

  /** The next `start` is followed by this message, which the reader does not have. */
  replay(message: UIMessage): void {
    this.#first = { ...this.#first, replay: message };
    this.#view = this.#nextView();
  }

  /** The chunks that the reader gets for an entry. */
  async next(entry: LogEntry): Promise<UIMessageChunk[]> {
    if (entry.kind === "begin") {
      this.#skipped = undefined;
      this.#view = this.#nextView();
    }
    if (entry.kind !== "chunk") return [];
    const view = (this.#view ??= this.#nextView());
    if (this.#skipped) {
      const skipped = this.#skipped;
      this.#skipped = undefined;
      for (const chunk of skipped) await view(chunk);
    }
    return view(entry.chunk);
  }

  #nextView(): View {
    const { bridge, owner, confirmation } = this.#reader;
    const view = viewOf({ bridge, owner, confirmation, ...this.#first });
    this.#first = undefined;
    return view;
  }
}
