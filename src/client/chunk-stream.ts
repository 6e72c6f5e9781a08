import type { UIMessageChunk } from "ai";

/** The stream a chat reads. Either side may close it; writing to a closed stream does nothing. */
export class ChunkStream {
  readonly readable: ReadableStream<UIMessageChunk>;
  /** Undefined once either side has closed the stream. */
  #controller: ReadableStreamDefaultController<UIMessageChunk> | undefined;

  constructor() {
    this.readable = new ReadableStream<UIMessageChunk>({
      start: (controller) => void (this.#controller = controller),
      cancel: () => void (this.#controller = undefined),
    });
  }

  get isOpen(): boolean {
    return this.#controller !== undefined;
  }

  write(chunks: readonly UIMessageChunk[]): void {
    for (const chunk of chunks) this.#controller?.enqueue(chunk);
  }

  close(): void {
    this.#controller?.close();
    this.#controller = undefined;
  }

  error(reason: Error): void {
    this.#controller?.error(reason);
    this.#controller = undefined;
  }
}

/** The chunks of a stream. */
export async function* chunksOf(stream: ReadableStream<UIMessageChunk>): AsyncGenerator<UIMessageChunk> {
  const reader = stream.getReader();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value;
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
