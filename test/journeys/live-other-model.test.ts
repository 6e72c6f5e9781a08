import { AsyncQueue, BaseLlm, type BaseLlmConnection, FunctionTool, LlmAgent, type LlmResponse } from "@google/adk";
import type { Content } from "@google/genai";
import { createBridge } from "adk-stream-protocol";
import { memoryStore } from "adk-stream-protocol/stores/memory";
import type { UIMessageChunk } from "ai";
import { expect, it } from "vitest";
import { z } from "zod";
import { demoTools, userMessage, type World } from "../fixtures/world.ts";

/** A live model that is not Gemini. It pays or greets when the user asks for it, and repeats everything else it gets. */
class Parrot extends BaseLlm {
  // oxlint-disable-next-line require-yield -- this model only works live
  override async *generateContentAsync(): AsyncGenerator<LlmResponse> {
    throw new Error("This model is only talked to.");
  }

  override async connect(): Promise<BaseLlmConnection> {
    const received = new AsyncQueue<Content>();
    return {
      sendHistory: async () => undefined,
      sendContent: async (content) => received.push(content),
      sendRealtime: async () => undefined,
      close: async () => received.close(),
      async *receive() {
        for await (const { parts = [] } of received) {
          const pays = parts.some(({ text }) => text === "pay");
          const args = { amount: 50, recipient: "Hanako" };
          const greets = parts.some(({ text }) => text === "greet");
          if (greets) yield { content: { role: "model", parts: [{ functionCall: { name: "greet", args: {} } }] } };
          else if (pays)
            yield { content: { role: "model", parts: [{ functionCall: { name: "process_payment", args } }] } };
          else {
            yield { content: { role: "model", parts: [{ text: JSON.stringify(parts) }] } };
            yield { turnComplete: true };
          }
        }
      },
    };
  }
}

it("a free call of a live model that is not Gemini is shown with the input that its tool gets", async () => {
  let count = 0;
  const ran: unknown[] = [];
  const greet = new FunctionTool({
    name: "greet",
    description: "Greets.",
    parameters: z.object({ number: z.number().default(() => (count += 1)) }),
    execute: (args) => void ran.push(args),
  });
  const agent = new LlmAgent({ name: "root_agent", model: new Parrot({ model: "parrot" }), tools: [greet] });
  const bridge = await createBridge({ agent, store: memoryStore(), sweepMs: 0, live: { silenceMs: 5000 } });
  const reply = await bridge.submit(
    "local",
    "chat-1",
    { type: "message", message: userMessage("greet") },
    { live: true },
  );
  const inputs: unknown[] = [];
  if ("turn" in reply)
    for await (const batch of bridge.read(reply))
      inputs.push(...batch.flatMap(({ chunk }) => (chunk.type === "tool-input-available" ? [chunk.input] : [])));
  // The model's answer does not pass through our connection, so its input is known only when the tool is about to run.
  expect(ran).toEqual([{ number: expect.any(Number) }]);
  expect(inputs).toEqual([{}, ran[0]]);
  await bridge.close();
});

it("a live model that is not Gemini is gated like any other", async () => {
  const payments: World["payments"] = [];
  const agent = new LlmAgent({
    name: "root_agent",
    model: new Parrot({ model: "parrot" }),
    tools: demoTools(payments),
  });
  const bridge = await createBridge({ agent, store: memoryStore(), sweepMs: 0, live: { silenceMs: 5000 } });
  const submit = async (submission: Parameters<typeof bridge.submit>[2]) => {
    const reply = await bridge.submit("local", "chat-1", submission, { live: true });
    const chunks: UIMessageChunk[] = [];
    if ("turn" in reply) for await (const batch of bridge.read(reply)) chunks.push(...batch.map(({ chunk }) => chunk));
    return chunks;
  };
  const question = await submit({ type: "message", message: userMessage("pay") });
  const asked = question.find((chunk) => chunk.type === "tool-approval-request");
  expect(payments).toEqual([]);
  const outcome = await submit({ type: "answers", answers: [{ id: asked!.approvalId, approved: true }] });
  expect(payments).toHaveLength(1);
  expect(JSON.stringify(outcome)).toContain("functionResponse");
  await bridge.close();
});
