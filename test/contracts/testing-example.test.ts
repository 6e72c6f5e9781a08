import { FunctionTool, LlmAgent } from "@google/adk";
import { createBridge } from "adk-stream-protocol";
import { memoryStore } from "adk-stream-protocol/stores/memory";
import { call, geminiAt, startScriptedGemini, text } from "adk-stream-protocol/testing";
import { expect, test } from "vitest";
import { z } from "zod";

test("a payment waits for a person and is made once", async () => {
  const gemini = await startScriptedGemini({
    rules: [
      { when: /pay/i, say: [text("One moment."), call("pay", { amount: 50, recipient: "Hanako" })] },
      { when: ({ responses }) => responses.length > 0, say: [text("Paid.")] },
    ],
  });
  const payments: unknown[] = [];
  const pay = new FunctionTool({
    name: "pay",
    description: "Pays a person.",
    parameters: z.object({ amount: z.number(), recipient: z.string() }),
    requireConfirmation: true,
    execute: (payment) => ({ receipt: payments.push(payment) }),
  });
  const model = geminiAt({ model: "gemini-2.5-flash", url: gemini.url });
  const agent = new LlmAgent({ name: "cashier", model, tools: [pay] });
  const store = memoryStore();
  const bridge = await createBridge({ agent, store });

  const message = { id: "m1", role: "user" as const, parts: [{ type: "text" as const, text: "Pay Hanako 50." }] };
  const reply = await bridge.submit("me", "chat-1", { type: "message", message });
  if ("turn" in reply) for await (const _ of bridge.read(reply)); // the turn ends with the question
  const { approvals } = await bridge.approvals("me", { chat: "chat-1", state: "pending" });
  expect(approvals).toMatchObject([{ toolName: "pay", input: { amount: 50, recipient: "Hanako" } }]);
  expect(payments).toEqual([]);

  for (const { id } of approvals) await bridge.decide("me", { approvalId: id, approved: true });
  const told = await gemini.waitForRequest(2); // the model is told the result
  expect(told.responses).toMatchObject([{ name: "pay", response: { receipt: 1 } }]);
  expect(payments).toEqual([{ amount: 50, recipient: "Hanako" }]);

  await bridge.close();
  await store.close();
  await gemini.close();
});
