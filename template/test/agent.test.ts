import assert from "node:assert/strict";
import { test } from "node:test";
import { createBridge } from "adk-stream-protocol";
import { memoryStore } from "adk-stream-protocol/stores/memory";
import { createAgent, payments } from "../agent.ts";
import { startScriptedModel } from "../scripted-model.ts";

test("a payment waits for a person and is made once", async () => {
  const { gemini, model } = await startScriptedModel();
  const store = memoryStore();
  const bridge = await createBridge({ agent: createAgent(model), store });

  const message = {
    id: "m1",
    role: "user" as const,
    parts: [{ type: "text" as const, text: "Pay Hanako 50 dollars" }],
  };
  const reply = await bridge.submit("me", "chat-1", { type: "message", message });
  if ("turn" in reply) for await (const _ of bridge.read(reply)); // the turn ends with the question
  const { approvals } = await bridge.approvals("me", { chat: "chat-1", state: "pending" });
  assert.deepEqual(
    approvals.map(({ toolName, input }) => ({ toolName, input })),
    [{ toolName: "pay", input: { amount: 50, recipient: "Hanako" } }],
  );
  assert.deepEqual(payments, []);

  for (const { id } of approvals) await bridge.decide("me", { approvalId: id, approved: true });
  const { responses } = await gemini.waitForRequest(2); // the model is told the result
  assert.deepEqual(responses[0]?.response, { receipt: 1 });
  assert.deepEqual(payments, [{ amount: 50, recipient: "Hanako" }]);

  await bridge.close();
  await store.close();
  await gemini.close();
});
