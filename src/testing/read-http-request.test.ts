import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { clientGone } from "./http-wire.ts";
import { readBody, readTarget } from "./read-http-request.ts";

describe("the target of a request", () => {
  it.each([
    ["/v1beta/models/m:generateContent", { model: "m", stream: false }],
    ["//v1alpha/models/m:generateContent?key=k", { model: "m", stream: false }],
    ["/v1/models/gemini-2.5-flash:streamGenerateContent?alt=sse", { model: "gemini-2.5-flash", stream: true }],
  ])("is read from %s", (url, target) => {
    expect(readTarget({ method: "POST", url })).toEqual(target);
  });

  it.each([
    ["GET", "/v1beta/models/m:generateContent", 404],
    ["POST", "/v1beta/models/m:countTokens", 404],
    ["POST", "/v1beta/models/m:streamGenerateContent", 400],
  ])("%s %s is refused with %i", (method, url, code) => {
    expect(() => readTarget({ method, url })).toThrow(expect.objectContaining({ code }));
  });
});

describe("the body of a request", () => {
  const read = (...chunks: string[]) => readBody(Readable.from(chunks.map((chunk) => Buffer.from(chunk))), 100);

  it("is put together from its chunks, and fields that no script reads are kept", async () => {
    const body = await read('{"contents":[{"parts":[]}]', ',"cachedContent":"c"}');
    expect(body).toEqual({ contents: [{ parts: [] }], cachedContent: "c" });
  });

  it.each([
    ["what is not JSON", "{", "Invalid JSON payload received."],
    ["contents of another type", '{"contents":"hi"}', "Invalid value at 'contents'"],
    ["more than the limit", " ".repeat(101), "exceeds the limit: 100 bytes"],
  ])("%s is refused", async (_, body, sentence) => {
    await expect(read(body)).rejects.toThrow(sentence);
  });

  it("that breaks off means that the client has gone", async () => {
    const broken = new Readable({ read: () => undefined });
    const reading = readBody(broken, 100);
    broken.destroy(new Error("aborted"));
    await expect(reading).rejects.toBe(clientGone);
  });
});
