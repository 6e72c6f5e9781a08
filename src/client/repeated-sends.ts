const most = 5;

/**
 * Ends a loop: AI SDK sends an answer again whenever a reply has not settled its call. A request that brings the same
 * answers again and again is refused, and the next one that a person causes goes on.
 */
export class RepeatedSends {
  #last = "";
  #times = 0;

  /** Throws if the same answers were sent too often in a row. */
  check(body: object): void {
    const text = JSON.stringify(body);
    const { messages } = body as { messages?: { role: string }[] };
    const isAnswer = messages?.at(-1)?.role === "assistant";
    this.#times = isAnswer && text === this.#last ? this.#times + 1 : 0;
    this.#last = text;
    if (this.#times < most) return;
    this.#times = 0;
    throw new Error(`The answer was sent ${most} times without a reply that settles it. Send it again to go on.`);
  }
}
