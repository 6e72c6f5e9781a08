import { type Span, SpanStatusCode, trace } from "@opentelemetry/api";
import { metrics } from "./support/index.ts";
import type { Turn } from "./turn-input.ts";

/**
 * How a turn ended. `parked`: calls of it wait. `stopped`: by the user, or by a new message. `failed`: the reply
 * ended with an error, of the model for example. `left`: the server stops, and
 * another process goes on.
 */
export type TurnOutcome = "done" | "parked" | "stopped" | "failed" | "deleted" | "left";

/** Counts and times a turn, inside a span to which the spans of ADK belong. */
export async function measureTurn(
  { mode, input }: Pick<Turn, "mode" | "input">,
  run: () => Promise<TurnOutcome>,
): Promise<void> {
  const { started, running, duration } = metrics.turns;
  const attributes = { mode, kind: input.kind };
  const begun = performance.now();
  started.add(1, attributes);
  running.add(1);
  await trace.getTracer("adk-stream-protocol").startActiveSpan("adk_stream_protocol.turn", async (span: Span) => {
    let outcome: TurnOutcome = "failed";
    try {
      outcome = await run();
    } finally {
      running.add(-1);
      duration.record(performance.now() - begun, { ...attributes, outcome });
      span.setAttributes({ ...attributes, outcome });
      if (outcome === "failed") span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    }
  });
}
