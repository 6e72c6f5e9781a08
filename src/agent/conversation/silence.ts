/** Limits how long to wait for something. One timer serves many waits: a model may stream thousands of pieces. */
export class Silence {
  #timer: { ms: number; timeout: NodeJS.Timeout } | undefined;
  #onSilence = (): void => undefined;

  /** The promise's value, or `"silence"` when it takes longer than `ms`. Without `ms` there is no limit. */
  limit<T>(promise: Promise<T>, ms: number | undefined): Promise<T | "silence"> {
    if (ms === undefined) return promise;
    return new Promise((resolve, reject) => {
      this.#onSilence = () => resolve("silence");
      if (this.#timer?.ms === ms) this.#timer.timeout.refresh();
      else {
        this.stop();
        this.#timer = { ms, timeout: setTimeout(() => this.#onSilence(), ms) };
      }
      promise.then(resolve, reject);
    });
  }

  /** Clears the timer. */
  stop(): void {
    clearTimeout(this.#timer?.timeout);
    this.#timer = undefined;
  }
}
