import type { UIMessageChunk } from "ai";

/** The stream a chat reads, which may be closed from both ends; writing to a closed one is nothing. */
export class ChunkStream {
  readonly readable: ReadableStream<UIMessageChunk>;
  #controller!: ReadableStreamDefaultController<UIMessageChunk>;
  #isOpen = true;

  constructor() {
    this.readable = new ReadableStream<UIMessageChunk>({
      start: (controller) => void (this.#controller = controller),
      cancel: () => void (this.#isOpen = false),
    });
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  write(chunks: readonly UIMessageChunk[]): void {
    if (this.#isOpen) for (const chunk of chunks) this.#controller.enqueue(chunk);
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#controller.close();
  }

  error(reason: Error): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#controller.error(reason);
  }
}
