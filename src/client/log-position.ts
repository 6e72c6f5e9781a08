import type { UIMessageChunk } from "ai";

/** How much of a chat's log has arrived, and the chunks that wait for their number. */
export class LogPosition {
  /** The last log entry received; undefined before the first one. */
  sequence: number | undefined;
  #unnumbered: UIMessageChunk[] = [];

  /** The chunks that can be passed on now: none before the numbered one, and none that came before. */
  take(chunk: UIMessageChunk, sequence: number | undefined): UIMessageChunk[] {
    this.#unnumbered.push(chunk);
    if (sequence === undefined) return [];
    const chunks = this.flush();
    if (sequence <= (this.sequence ?? -1)) return [];
    this.sequence = sequence;
    return chunks;
  }

  /** True if an entry is new. */
  advance(sequence: number): boolean {
    const isNew = sequence > (this.sequence ?? -1);
    // The log counts from 1; a turn that is not in the log may say 0.
    if (sequence > 0) this.sequence = Math.max(sequence, this.sequence ?? 0);
    return isNew;
  }

  /** The chunks that wait for a number. They are no longer kept. */
  flush(): UIMessageChunk[] {
    const chunks = this.#unnumbered;
    this.#unnumbered = [];
    return chunks;
  }
}
