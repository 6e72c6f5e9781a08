import { expect, test } from "vitest";
import { readBody } from "./read-body.ts";

const post = (body: BodyInit, headers: Record<string, string> = {}) =>
  new Request("http://localhost/", {
    method: "POST",
    body,
    headers: { "content-type": "application/json", ...headers },
    ...(body instanceof ReadableStream && { duplex: "half" }),
  });

/** A body that comes in pieces. */
const pieces = (...parts: Uint8Array[]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });

test("reads JSON, wherever the pieces are cut", async () => {
  const bytes = new TextEncoder().encode('{"name":"花子"}');
  for (let cut = 0; cut <= bytes.length; cut++)
    expect(await readBody(post(pieces(bytes.slice(0, cut), bytes.slice(cut))), 100)).toEqual({ name: "花子" });
});

test.each([
  ["application/json; charset=utf-8", undefined],
  ["APPLICATION/JSON", undefined],
  ["text/plain", "unsupported_media_type"],
  ["application/jsonp", "unsupported_media_type"],
])("takes %s: %s", async (type, code) => {
  const reading = readBody(post("{}", { "content-type": type }), 100);
  if (code === undefined) expect(await reading).toEqual({});
  else await expect(reading).rejects.toMatchObject({ code });
});

test("refuses a body that is too large, whether or not it says so", async () => {
  const large = new Uint8Array(50).fill(0x20);
  await expect(readBody(post("{}", { "content-length": "101" }), 100)).rejects.toMatchObject({ code: "too_large" });
  await expect(readBody(post(pieces(large, large, large)), 100)).rejects.toMatchObject({ code: "too_large" });
});

test("refuses a body that is not UTF-8, ends early, or is not JSON", async () => {
  await expect(readBody(post(pieces(Uint8Array.of(0x22, 0xff, 0x22))), 100)).rejects.toThrow("not UTF-8");
  await expect(readBody(post(pieces(Uint8Array.of(0x22, 0xe8))), 100)).rejects.toThrow("not UTF-8");
  const cut = new ReadableStream({ pull: (controller) => controller.error(new Error("reset")) });
  await expect(readBody(post(cut), 100)).rejects.toThrow("The body ended before it was complete.");
  await expect(readBody(post("{"), 100)).rejects.toMatchObject({ code: "malformed" });
});
