import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { readUIMessageStream as readWithAi6 } from "ai-v6";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FoldedMessage, foldMessage } from "./fold-message.ts";

const refuse = (error: unknown): never => {
  throw error;
};
const asJson = (value: unknown) => JSON.parse(JSON.stringify(value)) as unknown;
const copy = (chunks: readonly UIMessageChunk[]) => asJson(chunks) as UIMessageChunk[];
const fold = (chunks: readonly UIMessageChunk[], message?: UIMessage) =>
  foldMessage("msg", copy(chunks), { message: message && (asJson(message) as UIMessage), onError: refuse });

async function readWith(
  read: typeof readUIMessageStream,
  chunks: readonly UIMessageChunk[],
  message?: UIMessage,
): Promise<UIMessage | undefined> {
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of copy(chunks)) controller.enqueue(chunk);
      controller.close();
    },
  });
  let last = message;
  for await (const next of read({ stream, message: message && (asJson(message) as UIMessage), terminateOnError: true }))
    last = next;
  return last;
}

/** What a turn of ours can write: steps with thoughts, text, files, calls, questions and notices, outcomes later. */
const value = fc.oneof(fc.integer(), fc.string(), fc.dictionary(fc.string({ minLength: 1 }), fc.integer()));
const text = (kind: "text" | "reasoning") =>
  fc
    .tuple(fc.uuid(), fc.array(fc.string(), { maxLength: 4 }))
    .map(([id, deltas]): UIMessageChunk[] => [
      { type: `${kind}-start`, id },
      ...deltas.map((delta): UIMessageChunk => ({ type: `${kind}-delta`, id, delta })),
      { type: `${kind}-end`, id },
    ]);
const other: fc.Arbitrary<UIMessageChunk[]> = fc.oneof(
  fc.constant<UIMessageChunk[]>([{ type: "file", url: "data:image/png;base64,AA==", mediaType: "image/png" }]),
  fc.webUrl().map((url): UIMessageChunk[] => [{ type: "source-url", sourceId: url, url, title: "A page" }]),
  value.map((data): UIMessageChunk[] => [{ type: "data-note", id: "note", data }]),
  value.map((data): UIMessageChunk[] => [{ type: "data-note", data }]),
  value.map((data): UIMessageChunk[] => [{ type: "data-note", id: "gone", data, transient: true }]),
);
const ending = fc.constantFrom("output", "preliminary", "error", "denied", "none");
const call = fc
  .tuple(fc.uuid(), fc.constantFrom("pay", "look"), value, fc.boolean(), ending, value)
  .map(([toolCallId, toolName, input, asks, ends, output]): { begin: UIMessageChunk[]; end: UIMessageChunk[] } => ({
    begin: [
      { type: "tool-input-start", toolCallId, toolName },
      { type: "tool-input-available", toolCallId, toolName, input },
      ...(asks
        ? ([
            { type: "tool-input-available", toolCallId, toolName, input: { parsed: input } },
            { type: "tool-approval-request", approvalId: `apr-${toolCallId}`, toolCallId },
            { type: "data-approval", id: `apr-${toolCallId}`, data: { state: "pending" } },
          ] satisfies UIMessageChunk[])
        : []),
    ],
    end: endOf(ends, toolCallId, output, asks),
  }));
function endOf(ends: string, toolCallId: string, output: unknown, asks: boolean): UIMessageChunk[] {
  if (ends === "none") return [];
  if (ends === "error") return [{ type: "tool-output-error", toolCallId, errorText: "No." }];
  if (ends === "denied") return asks ? [{ type: "tool-output-denied", toolCallId }] : [];
  const available: UIMessageChunk = { type: "tool-output-available", toolCallId, output };
  return ends === "output" ? [available] : [{ ...available, preliminary: true }, available];
}
const step = fc
  .tuple(fc.array(fc.oneof(text("text"), text("reasoning"), other), { maxLength: 3 }), fc.array(call, { maxLength: 3 }))
  .chain(([said, calls]) => fc.boolean().map((later) => ({ said: said.flat(), calls, later })));
const turn = fc.tuple(fc.array(step, { maxLength: 3 }), fc.option(value)).map(([steps, usage]): UIMessageChunk[] => {
  const late: UIMessageChunk[] = [];
  const body = steps.flatMap(({ said, calls, later }): UIMessageChunk[] => {
    if (later) late.push(...calls.flatMap(({ end }) => end));
    return [
      { type: "start-step" },
      ...said,
      ...calls.flatMap(({ begin }) => begin),
      ...(later ? [] : calls.flatMap(({ end }) => end)),
      { type: "finish-step" },
    ];
  });
  const messageMetadata = { usage: { total: usage ?? 1, of: { step: usage } }, modelVersion: "m" };
  return [{ type: "start", messageId: "msg" }, ...body, ...late, { type: "finish", messageMetadata }];
});

describe("a folded message", () => {
  test("is what the readers of both majors of AI SDK make of the chunks", async () => {
    await fc.assert(
      fc.asyncProperty(turn, turn, async (first, second) => {
        const folded = fold(first);
        expect(asJson(folded)).toEqual(asJson(await readWith(readUIMessageStream, first)));
        const continued = asJson(fold(second, folded));
        expect(continued).toEqual(asJson(await readWith(readUIMessageStream, second, folded)));
        // The type of a chunk has changed between the majors; what we write has not.
        const readers = readWithAi6 as unknown as typeof readUIMessageStream;
        expect(withoutReasoningIds(continued)).toEqual(
          withoutReasoningIds(asJson(await readWith(readers, second, folded))),
        );
      }),
      { numRuns: 150 },
    );
  });

  test("has the fields of AI SDK 7 for a question", () => {
    const chunks = [
      { type: "tool-input-available", toolCallId: "call", toolName: "pay", input: {} },
      {
        type: "tool-approval-request",
        approvalId: "apr",
        toolCallId: "call",
        approvalDescriptor: { a: 1 },
        reason: "?",
      },
    ] as UIMessageChunk[];
    expect(fold(chunks)?.parts[0]).toMatchObject({
      state: "approval-requested",
      approval: { id: "apr", descriptor: { a: 1 }, requestReason: "?" },
    });
  });

  test("has an error as metadata, and nothing before its first chunk", () => {
    expect(fold([])).toBeUndefined();
    expect(fold([{ type: "start" }, { type: "error", errorText: "Gone." }])).toMatchObject({
      metadata: { error: "Gone." },
      parts: [],
    });
  });

  test.each<[UIMessageChunk, RegExp]>([
    [{ type: "text-delta", id: "lost", delta: "?" }, /lost, which has not begun/],
    [{ type: "reasoning-end", id: "lost" }, /lost, which has not begun/],
    [{ type: "tool-output-available", toolCallId: "lost", output: 1 }, /no call lost/],
    [{ type: "tool-output-denied", toolCallId: "lost" }, /no call lost/],
    [{ type: "tool-approval-request", toolCallId: "lost", approvalId: "a" }, /no call lost/],
    [{ type: "odd" } as unknown as UIMessageChunk, /type odd/],
  ])("refuses %o, and goes on with the next chunk", (bad, why) => {
    const folded = new FoldedMessage("msg");
    folded.add({ type: "start-step" });
    expect(() => folded.add(bad)).toThrow(why);
    folded.add({ type: "start-step" });
    expect(folded.message?.parts).toHaveLength(2);
  });

  test("adds ten thousand calls and words in one step", () => {
    const folded = new FoldedMessage("msg");
    folded.add({ type: "start-step" });
    folded.add({ type: "text-start", id: "t" });
    for (let n = 0; n < 10_000; n += 1) {
      folded.add({ type: "text-delta", id: "t", delta: "word " });
      folded.add({ type: "tool-input-available", toolCallId: `c${n}`, toolName: "look", input: {} });
      folded.add({ type: "tool-output-available", toolCallId: `c${n}`, output: n });
    }
    expect(folded.message?.parts).toHaveLength(10_002);
  });
});

/** Only AI SDK 7 keeps the id of a thought. */
function withoutReasoningIds(message: unknown): unknown {
  const { parts, ...rest } = message as UIMessage;
  return { ...rest, parts: parts.map((part) => (part.type === "reasoning" ? { ...part, id: undefined } : part)) };
}
