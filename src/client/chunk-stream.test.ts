import type { UIMessageChunk } from "ai";
import { describe, expect, it } from "vitest";
import { ChunkStream } from "./chunk-stream.ts";

const start: UIMessageChunk = { type: "start" };
const finish: UIMessageChunk = { type: "finish" };

async function read(stream: ChunkStream): Promise<UIMessageChunk[]> {
  const chunks: UIMessageChunk[] = [];
  for await (const chunk of stream.readable) chunks.push(chunk);
  return chunks;
}

describe("ChunkStream", () => {
  it("gives its reader what was written, until it is closed", async () => {
    const stream = new ChunkStream();
    expect(stream.isOpen).toBe(true);
    stream.write([start, finish]);
    stream.close();
    expect(stream.isOpen).toBe(false);
    expect(await read(stream)).toEqual([start, finish]);
  });

  it("ignores what comes after its end", async () => {
    const stream = new ChunkStream();
    stream.close();
    stream.close();
    stream.write([start]);
    stream.error(new Error("too late"));
    expect(await read(stream)).toEqual([]);
  });

  it("ends with an error, which its reader gets", async () => {
    const stream = new ChunkStream();
    stream.error(new Error("lost"));
    stream.write([start]);
    stream.close();
    expect(stream.isOpen).toBe(false);
    await expect(read(stream)).rejects.toThrow("lost");
  });

  it("is closed when its reader leaves", async () => {
    const stream = new ChunkStream();
    stream.write([start]);
    await stream.readable.cancel();
    expect(stream.isOpen).toBe(false);
    stream.write([finish]);
    stream.close();
  });
});
