import { type LiveRequest, LiveRequestQueue } from "@google/adk";

/**
 * The input of a live run, read by the newest of its connections only. When an agent is left in the middle (a loop that
 * ends with `escalate`), ADK forgets that agent's connection, which would go on taking input meant for the next one. Here
 * the older reader is told to close as soon as another one reads.
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
        // The request had been taken out when its reader was dismissed, so it goes back for the next one.
        if (dismissal.signal.aborted && !request.close) this.send(request);
        else resolve(request);
      }, reject);
    });
  }
}
