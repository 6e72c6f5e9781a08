/** One stream of a chat over HTTP, which outlives its connections. */
export class OpenStream {
  readonly chatId: string;
  /** Aborts when the page leaves the stream. */
  readonly leave = new AbortController();
  /** Ends the connection in use, or the wait for the next one, which is opened at once. */
  cut: () => void = () => undefined;
  /** The last chunk, and when it came. After the end of a step the reply may wait for an answer. */
  last = { type: "", at: 0 };
  /** Its request changes the chat and has no response yet: it was sent, or waits to be sent again. */
  request: "sent" | "due" | undefined;
  /** True if an abort is the person's stop. A request to resume is aborted only to make it once more. */
  isStoppable: boolean;
  #isLeft = false;
  #isClosed = false;

  constructor(chatId: string, request?: "sent") {
    this.chatId = chatId;
    this.request = request;
    this.isStoppable = request !== undefined;
  }

  /** Leaves the stream. A request on its way is not cut, because the server might not get it. */
  release(): void {
    this.#isLeft = true;
    if (!this.request) this.leave.abort();
  }

  /** The page is left too: a request on its way is the last one. */
  close(): void {
    this.#isClosed = true;
    if (this.request === "due") this.leave.abort();
    this.release();
  }

  /** The server has the request. */
  begin(): void {
    this.request = undefined;
    this.isStoppable = true;
    if (this.#isLeft) this.leave.abort();
    this.leave.signal.throwIfAborted();
  }

  /** True if no other request may follow. */
  get isOver(): boolean {
    return this.#isClosed || this.leave.signal.aborted;
  }
}
