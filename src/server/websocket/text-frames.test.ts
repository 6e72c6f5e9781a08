import type { Writable } from "node:stream";
import fc from "fast-check";
import { expect, test } from "vitest";
import * as ws from "ws";
import { textFrames } from "./text-frames.ts";

/** The reader of `ws`, which its types leave out. */
const { Receiver } = ws as unknown as { Receiver: new (options: { isServer: boolean }) => Writable };

/** What the other side reads. */
async function read(bytes: Buffer): Promise<string[]> {
  const receiver = new Receiver({ isServer: false });
  const texts: string[] = [];
  receiver.on("message", (data: Buffer, isBinary: boolean) => void texts.push(isBinary ? "binary" : data.toString()));
  await new Promise<void>((resolve, reject) => {
    receiver.on("error", reject);
    receiver.end(bytes, resolve);
  });
  return texts;
}

test.each([0, 1, 125, 126, 127, 65_535, 65_536, 200_000])("a text of %i bytes is one frame", async (length) => {
  const text = "x".repeat(length);
  expect(await read(textFrames(["before", text, "after"]))).toEqual(["before", text, "after"]);
});

test("any texts come as they are, each in a frame of its own", async () => {
  const texts = fc.array(fc.string({ unit: "binary", maxLength: 300 }), { maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(texts, async (sent) => {
      expect(await read(textFrames(sent))).toEqual(sent);
    }),
  );
});

test("half of a pair of surrogates becomes the replacement character", async () => {
  expect(await read(textFrames(["a\ud83d", "\ude00b"]))).toEqual(["a\ufffd", "\ufffdb"]);
});
