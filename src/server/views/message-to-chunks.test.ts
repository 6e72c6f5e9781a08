import * as ai7 from "ai";
import type { UIMessage, UIMessageChunk } from "ai";
import * as ai6 from "ai-v6";
import { describe, expect, test } from "vitest";
import { messageToChunks } from "./message-to-chunks.ts";

const call = { type: "tool-pay", toolCallId: "c1", input: { amount: 50 } } as const;
const approval = { id: "apr", approved: true };
type Part = UIMessage["parts"][number];

/** The parts that AI SDK makes of the chunks of these parts. */
async function madeAgain(ai: typeof ai7, parts: Part[], knowsDecisions: boolean): Promise<Part[]> {
  const chunks: UIMessageChunk[] = [
    { type: "start", messageId: "msg" },
    ...messageToChunks({ id: "msg", role: "assistant", parts }, { knowsDecisions }),
  ];
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of [...chunks, { type: "finish", messageMetadata: {} } as const]) controller.enqueue(chunk);
      controller.close();
    },
  });
  let message: UIMessage | undefined;
  for await (const next of ai.readUIMessageStream({ stream, terminateOnError: true })) message = next;
  await ai.validateUIMessages({ messages: [message!] });
  expect(message!.id).toBe("msg");
  return JSON.parse(JSON.stringify(message!.parts)) as Part[];
}

describe.each([
  ["ai@6", ai6 as unknown as typeof ai7],
  ["ai@7", ai7],
])("a message made again by %s", (_name, ai) => {
  const again = (parts: Part[]) => madeAgain(ai, parts, false);

  test("has the same steps, texts, files, sources and data", async () => {
    const parts: Part[] = [
      { type: "data-approval", id: "before", data: { state: "cancelled" } },
      { type: "step-start" },
      { type: "reasoning", text: "Hm.", state: "done" },
      { type: "text", text: "One ", state: "done" },
      { type: "text", text: "two.", state: "done" },
      { type: "file", mediaType: "image/png", url: "data:image/png;base64,AAAA" },
      { type: "source-url", sourceId: "s1", url: "https://example.com", title: "Example" },
      { type: "source-document", sourceId: "s2", mediaType: "text/plain", title: "Paper" },
      { type: "step-start" },
      { type: "text", text: "Three.", state: "done" },
      { type: "data-approval", id: "apr", data: { state: "succeeded" } },
    ];
    expect(await again(parts)).toMatchObject(parts);
  });

  test.each<[string, object, object]>([
    ["input-available", { state: "input-available" }, { state: "input-available" }],
    [
      "approval-requested",
      { state: "approval-requested", approval: { id: "apr" } },
      { state: "approval-requested", approval: { id: "apr" } },
    ],
    [
      "approval-requested with a card",
      { state: "approval-requested", approval: { id: "apr", descriptor: { hint: "Sure?" }, requestReason: "Sure?" } },
      { state: "approval-requested", approval: { id: "apr", descriptor: { hint: "Sure?" } } },
    ],
    ["approval-responded", { state: "approval-responded", approval }, { state: "input-available" }],
    [
      "output-available",
      { state: "output-available", output: { ok: 1 }, approval },
      { state: "output-available", output: { ok: 1 } },
    ],
    [
      "output-available for now",
      { state: "output-available", output: { ok: 1 }, preliminary: true, approval },
      { state: "output-available", output: { ok: 1 }, preliminary: true },
    ],
    [
      "output-error",
      { state: "output-error", errorText: "broke", approval },
      { state: "output-error", errorText: "broke" },
    ],
    [
      "output-denied",
      { state: "output-denied", approval: { id: "apr", approved: false, reason: "wrong person" } },
      { state: "output-error", errorText: "The call was not run: wrong person" },
    ],
  ])("has a call that was %s in a form it accepts", async (_state, before, after) => {
    expect(await again([{ type: "step-start" }, { ...call, ...before } as never])).toMatchObject([
      { type: "step-start" },
      { ...call, ...after },
    ]);
  });

  test("is told of the decision about a call before the call", () => {
    const report = { type: "data-approval", id: "apr", data: { approvalId: "apr", state: "denied" } } as const;
    const denied = { ...call, state: "output-denied", approval: { id: "apr", approved: false } } as const;
    const message: UIMessage = { id: "msg", role: "assistant", parts: [{ type: "step-start" }, denied, report] };
    const chunks = messageToChunks(message, { knowsDecisions: false });
    expect(chunks.map(({ type }) => type).join(" ")).toBe(
      "start-step data-approval tool-input-start tool-input-available tool-output-error data-approval finish-step",
    );
    expect(chunks[1]).toEqual({ ...report, transient: true });
    expect(chunks[5]).toEqual(report);
    const known = messageToChunks(message, { knowsDecisions: true });
    expect(known.filter(({ type }) => type === "data-approval")).toEqual([report]);
  });

  test("knows dynamic tools by their names", async () => {
    const part: Part = {
      type: "dynamic-tool",
      toolName: "pay",
      toolCallId: "c1",
      input: {},
      state: "output-available",
      output: 1,
    };
    expect(await again([part])).toMatchObject([part]);
  });
});

test.each<[string, object]>([
  ["input-available", { state: "input-available" }],
  ["approval-requested", { state: "approval-requested", approval: { id: "apr", descriptor: { hint: "Sure?" } } }],
  ["approval-responded", { state: "approval-responded", approval: { ...approval, descriptor: { hint: "Sure?" } } }],
  ["approval-responded with a no", { state: "approval-responded", approval: { id: "apr", approved: false } }],
  ["output-available", { state: "output-available", output: { ok: 1 }, approval }],
  ["output-available of a free call", { state: "output-available", output: { ok: 1 } }],
  ["output-error", { state: "output-error", errorText: "broke", approval: { ...approval, reason: "go on" } }],
  ["output-denied", { state: "output-denied", approval: { id: "apr", approved: false, reason: "wrong person" } }],
])("a reader that knows decisions has a call that was %s exactly as it was", async (_state, before) => {
  const parts = [{ type: "step-start" }, { ...call, ...before }] as Part[];
  expect(await madeAgain(ai7, parts, true)).toEqual(parts);
});
