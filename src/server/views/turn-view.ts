import type { UIMessage, UIMessageChunk } from "ai";
import type { LogEntry } from "../../agent/index.ts";
import type { View } from "./view.ts";
import { viewOf, type ViewOptions } from "./view-of.ts";

/**
 * The view of a reader that follows a chat turn after turn: each turn gets a `viewOf` of its own. A view depends on the
 * whole turn, so entries that the client already has are passed to `skip`.
 */
export class TurnView {
  readonly #options: Pick<ViewOptions, "bridge" | "owner" | "confirmation">;
  /** What belongs to the first turn only. */
  #first: Pick<ViewOptions, "replay" | "chatId">;
  #view: View | undefined;
  #skipped: UIMessageChunk[] = [];

  constructor({
    replay,
    chatId,
    ...options
  }: Pick<ViewOptions, "bridge" | "owner" | "confirmation" | "replay" | "chatId">) {
    this.#options = options;
    this.#first = { replay, chatId };
  }

  /** An entry that the client has already. */
  skip(entry: LogEntry): void {
    if (entry.kind === "begin") this.#skipped = [];
    // In the log's own dialect no chunk depends on an earlier one.
    else if (entry.kind === "chunk" && this.#options.confirmation !== "approval") this.#skipped.push(entry.chunk);
  }

  /** The next `start` is followed by this message, which the reader does not have. */
  replay(message: UIMessage): void {
    this.#first = { ...this.#first, replay: message };
    this.#view = this.#nextView();
  }

  /** The chunks that the reader gets for an entry. */
  async next(entry: LogEntry): Promise<UIMessageChunk[]> {
    if (entry.kind === "begin") {
      this.#skipped = [];
      this.#view = this.#nextView();
    }
    if (entry.kind !== "chunk") return [];
    const view = (this.#view ??= this.#nextView());
    if (this.#skipped.length > 0) for (const chunk of this.#skipped.splice(0)) await view(chunk);
    return view(entry.chunk);
  }

  #nextView(): View {
    const view = viewOf({ ...this.#options, ...this.#first });
    this.#first = {};
    return view;
  }
}
