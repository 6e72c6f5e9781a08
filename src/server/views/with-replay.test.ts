import type { UIMessage, UIMessageChunk } from "ai";
import { expect, test } from "vitest";
import { withReplay } from "./with-replay.ts";

const message: UIMessage = {
  id: "m",
  role: "assistant",
  parts: [
    { type: "step-start" },
    {
      type: "tool-pay",
      toolCallId: "denied",
      input: {},
      state: "output-denied",
      approval: { id: "a", approved: false },
    },
    { type: "tool-pay", toolCallId: "open", input: {}, state: "approval-requested", approval: { id: "b" } },
  ],
};

async function read(
  chunks: UIMessageChunk[],
  replay: UIMessage | undefined,
  knowsDecisions = false,
): Promise<UIMessageChunk[]> {
  const view = withReplay(async (chunk) => [chunk], replay, { knowsDecisions });
  const seen: UIMessageChunk[] = [];
  for (const chunk of chunks) seen.push(...(await view(chunk)));
  return seen;
}

const start: UIMessageChunk = { type: "start", messageId: "m" };
const denied = (toolCallId: string): UIMessageChunk => ({ type: "tool-output-denied", toolCallId });

test("adds nothing if there is no earlier message", async () => {
  const chunks: UIMessageChunk[] = [start, denied("open"), { type: "finish" }];
  expect(await read(chunks, undefined)).toEqual(chunks);
});

test("puts the earlier parts directly after start", async () => {
  const seen = await read([start, { type: "start-step" }, { type: "finish" }], message);
  expect(seen.map(({ type }) => type)).toEqual([
    "start",
    "start-step",
    "tool-input-start",
    "tool-input-available",
    "tool-output-error",
    "tool-input-start",
    "tool-input-available",
    "tool-approval-request",
    "finish-step",
    "start-step",
    "finish",
  ]);
});

test("says a denial as an error, and not again for a call that was denied before", async () => {
  const seen = await read([start, denied("denied"), denied("open")], message);
  expect(seen.at(-1)).toEqual({ type: "tool-output-error", toolCallId: "open", errorText: "The call was not run." });
  expect(seen.filter(({ type }) => type === "tool-output-error")).toHaveLength(2);
});

test("has decisions and denials for a reader that knows them, and an outcome that it has already only once", async () => {
  const again: UIMessageChunk[] = [
    denied("denied"),
    { type: "tool-output-error", toolCallId: "denied", errorText: "Another tab said yes." },
  ];
  const seen = await read([start, ...again, denied("open")], message, true);
  expect(seen.map(({ type }) => type)).toEqual([
    "start",
    "start-step",
    "tool-input-start",
    "tool-input-available",
    "tool-approval-request",
    "tool-approval-response",
    "tool-output-denied",
    "tool-input-start",
    "tool-input-available",
    "tool-approval-request",
    "finish-step",
    "tool-output-denied",
  ]);
  expect(seen.at(-1)).toEqual(denied("open"));
});
