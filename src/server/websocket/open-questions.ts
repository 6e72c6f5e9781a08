import type { UIMessageChunk } from "ai";
import type { ApprovalData } from "../../protocol/index.ts";

/** The open questions of a chat, by the message that asks them, as the chunks of its log tell. */
export class OpenQuestions {
  /** The message of each, by the approval's id. */
  readonly #messages = new Map<string, string>();

  /** Reads one chunk of a turn that writes to the message `reply`. */
  take(chunk: UIMessageChunk, reply: string): void {
    if (chunk.type !== "data-approval") return;
    const { approvalId, state } = chunk.data as ApprovalData;
    if (state === "pending") this.#messages.set(approvalId, reply);
    else this.#messages.delete(approvalId);
  }

  /** True while a question of this message is open. */
  hasOf(reply: string): boolean {
    return [...this.#messages.values()].includes(reply);
  }
}
