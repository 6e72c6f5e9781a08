import { FunctionTool } from "@google/adk";
import { SpanStatusCode } from "@opentelemetry/api";
import { afterEach, describe, expect, it, vi } from "vitest";
import { recordSpans, toolSpanAttributes } from "../../../test/fixtures/spans.ts";
import { inToolSpan } from "./tool-span.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

const pay = new FunctionTool({ name: "pay", description: "Pays.", execute: () => ({}) });
const row = { id: "apr_1", toolCallId: "c-1", input: '{"amount":5}' };

describe("the span of a call that runs outside ADK's loop", () => {
  it("has the name and the attributes of one inside", async () => {
    const [span] = await recordSpans(() => inToolSpan(pay, row, async () => ({ paid: 5 })));
    expect(span).toMatchObject({ name: "execute_tool pay", ended: true });
    expect(Object.keys(span?.attributes ?? {}).toSorted()).toEqual(toolSpanAttributes);
    expect(span?.attributes).toMatchObject({
      "gen_ai.tool.name": "pay",
      "gen_ai.tool.call.id": "c-1",
      "gcp.vertex.agent.tool_call_args": '{"amount":5}',
      "gcp.vertex.agent.tool_response": '{"paid":5}',
    });
  });

  it("contains nothing of what was said if ADK's switch is off", async () => {
    vi.stubEnv("ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS", "false");
    const [span] = await recordSpans(() => inToolSpan(pay, row, async () => ({ paid: 5 })));
    expect(span?.attributes).toMatchObject({
      "gcp.vertex.agent.tool_call_args": "{}",
      "gcp.vertex.agent.tool_response": "{}",
    });
  });

  it("ends as an error if the tool throws", async () => {
    const failing = () =>
      inToolSpan(pay, row, async () => {
        throw new Error("No money.");
      });
    const [span] = await recordSpans(() => expect(failing()).rejects.toThrow("No money."));
    expect(span).toMatchObject({ ended: true, status: { code: SpanStatusCode.ERROR } });
  });

  it("does not mind a result that is not JSON", async () => {
    const [span] = await recordSpans(() => inToolSpan(pay, row, async () => ({ paid: 5n })));
    expect(span?.attributes["gcp.vertex.agent.tool_response"]).toBe("<not serializable>");
  });
});
