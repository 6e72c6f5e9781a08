import { type BaseTool, version } from "@google/adk";
import { type Span, SpanStatusCode, trace } from "@opentelemetry/api";
import type { Approval } from "../../stores/index.ts";

/**
 * The span that ADK makes around a tool in its loop (K31), for a call that runs outside it: the same tracer, name and
 * attributes, so that gated and free calls are found by the same query.
 */
export async function inToolSpan<T>(
  tool: BaseTool,
  { id, toolCallId, input }: Pick<Approval, "id" | "toolCallId" | "input">,
  run: () => Promise<T>,
): Promise<T> {
  const tracer = trace.getTracer("gcp.vertex.agent", version);
  return tracer.startActiveSpan(`execute_tool ${tool.name}`, async (span: Span) => {
    span.setAttributes({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.description": tool.description,
      "gen_ai.tool.name": tool.name,
      "gen_ai.tool.type": tool.constructor.name,
      "gen_ai.tool.call.id": toolCallId,
      "gcp.vertex.agent.llm_request": "{}",
      "gcp.vertex.agent.llm_response": "{}",
      // There is no event yet; the approval is what the outcome is recorded with.
      "gcp.vertex.agent.event_id": id,
      "gcp.vertex.agent.tool_call_args": capturesContent() ? input : "{}",
    });
    try {
      const result = await run();
      span.setAttribute("gcp.vertex.agent.tool_response", capturesContent() ? toText(result) : "{}");
      return result;
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  });
}

/** ADK's own switch: whether spans contain what was said. */
function capturesContent(): boolean {
  const value = process.env["ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS"] || "true";
  return value === "true" || value === "1";
}

function toText(result: unknown): string {
  try {
    return JSON.stringify(typeof result === "object" && result !== null ? result : { result });
  } catch {
    return "<not serializable>";
  }
}
