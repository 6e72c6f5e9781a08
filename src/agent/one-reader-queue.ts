import { type LiveRequest, LiveRequestQueue } from "@google/adk";

/**
 * What is said in a live run, for the newest of its connections. Where an agent is left in the middle (a loop that ends
 * with `escalate`), ADK forgets its connection, which would go on taking words that are meant for the next one. Here it
 * is told to close when another begins to read.
 */
export class OneReaderQueue extends LiveRequestQueue {
  #dismiss = (): void => undefined;

  override get(abortSignal?: AbortSignal): Promise<LiveRequest> {
    this.#dismiss();
    return new Promise((resolve, reject) => {
      const dismissal = new AbortController();
      this.#dismiss = () => {
        resolve({ close: true });
        dismissal.abort();
      };
      const signal = abortSignal ? AbortSignal.any([abortSignal, dismissal.signal]) : dismissal.signal;
      super.get(signal).then((request) => {
        // It had been taken out when the reader was dismissed.
        if (dismissal.signal.aborted && !request.close) this.send(request);
        else resolve(request);
      }, reject);
    });
  }
}
