import type { Logger } from "../../agent/index.ts";
import { logFailure } from "../refusal.ts";

/** The content type of an exported chat: one JSON value on each line. */
export const exportType = "application/x-ndjson";

const headers = {
  "content-type": `${exportType}; charset=utf-8`,
  "content-disposition": 'attachment; filename="chat.jsonl"',
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};

/**
 * Lines as a file, written at the pace of the reader. If they end with an error, the connection is cut, so that the reader
 * does not take a part for the whole.
 */
export function linesResponse(lines: AsyncGenerator<string>, { logger }: { logger: Logger }): Response {
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await lines.next();
        if (done) controller.close();
        else controller.enqueue(encoder.encode(value));
      } catch (error) {
        logFailure(error, logger, "An export has failed.");
        controller.error(error);
      }
    },
    async cancel() {
      await lines.return(undefined);
    },
  });
  return new Response(body, { headers });
}
