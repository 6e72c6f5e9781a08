import { expect, test } from "vitest";
import { ChatFrameWriter } from "./chat-frame-writer.ts";
import type { ChatOutput } from "./turn-joiner.ts";

function written(numbered: boolean, ...outputs: ChatOutput[]): string[] {
  const frames: string[] = [];
  new ChatFrameWriter({ send: (text) => void frames.push(text) }, numbered).send(outputs);
  return frames;
}

const outputs: ChatOutput[] = [
  { kind: "turn", turn: "t", reply: "m", sequence: 1 },
  { kind: "chunk", chunk: { type: "start-step" } },
  { kind: "chunk", chunk: { type: "finish-step" }, sequence: 2 },
  { kind: "done", sequence: 3 },
];
const parked = (endsWithStep: boolean): ChatOutput => ({ kind: "parked", turn: "t", sequence: 4, endsWithStep });

test("a plain client gets events only", () => {
  expect(written(false, ...outputs)).toEqual([
    'data: {"type":"start-step"}\n\n',
    'data: {"type":"finish-step"}\n\n',
    "data: [DONE]\n\n",
  ]);
});

test("a numbered client also gets numbers and control frames", () => {
  expect(written(true, ...outputs)).toEqual([
    '{"type":"turn","turn":"t","reply":"m","sequence":1}',
    'data: {"type":"start-step"}\n\n',
    'id: 2\ndata: {"type":"finish-step"}\n\n',
    "id: 3\ndata: [DONE]\n\n",
  ]);
});

test("a reply that waits ends with a step for a plain client, and with parked for a numbered one", () => {
  expect(written(false, parked(true))).toEqual([]);
  expect(written(false, parked(false))).toEqual([
    'data: {"type":"start-step"}\n\n',
    'data: {"type":"finish-step"}\n\n',
  ]);
  for (const endsWithStep of [true, false])
    expect(written(true, parked(endsWithStep))).toEqual(['{"type":"parked","turn":"t","sequence":4}']);
});
