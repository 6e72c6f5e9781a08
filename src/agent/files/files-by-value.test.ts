import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { fileAddress } from "../../protocol/index.ts";
import { memoryStore } from "../../stores/memory.ts";
import { overrideStore } from "../../stores/override-store.ts";
import { FilesByValue } from "./files-by-value.ts";
import { toInlineAddress } from "./inline-address.ts";

const kibibyte = 1024;

test("messages of an exported chat have their files as far as there is room, and their words always", async () => {
  const store = memoryStore({ now: () => 1 });
  const { id: chat } = await store.openChat({ owner: "alice", name: "chat", appName: "app" });
  const saved = async (digit: string, data: Uint8Array) => {
    const id = digit.repeat(32);
    await store.saveFile({ id, chat, mediaType: "text/plain", data });
    return { type: "file" as const, url: fileAddress(id), mediaType: "text/plain" };
  };
  const sixKibibytes = Buffer.alloc(6 * kibibyte, "x");
  const [one, two, three] = await Promise.all(["1", "2", "3"].map((digit) => saved(digit, sixKibibytes)));
  const gone = { type: "file" as const, url: fileAddress("f".repeat(32)), mediaType: "text/plain" };
  const message = (...parts: UIMessage["parts"]): UIMessage => ({
    id: "m",
    role: "user",
    parts: [{ type: "text", text: "look" }, ...parts],
  });
  const files = new FilesByValue(store, chat, { message: 10 * kibibyte, files: 17 * kibibyte });
  const urlsOf = async (given: UIMessage) => {
    const { parts } = await files.message(given);
    expect(parts[0]).toEqual({ type: "text", text: "look" });
    return parts.flatMap((part) => (part.type === "file" ? part.url.split(",")[0] : []));
  };
  const value = "data:text/plain;base64";
  expect(await urlsOf(message(one!, two!, gone))).toEqual([value, two!.url, gone.url]);
  expect(await urlsOf(message(two!))).toEqual([value]);
  expect(await urlsOf(message(three!))).toEqual([three!.url]);
  // A small file that a client gets by value has no room either.
  expect(await urlsOf(message({ ...three!, url: toInlineAddress(three!.url, `${value},`) }))).toEqual([three!.url]);
  const [, part] = (await new FilesByValue(store, chat).message(message(one!))).parts;
  expect(part).toMatchObject({ url: `${value},${sixKibibytes.toString("base64")}` });
});

test("words take no room of the files, and a file without room is not read", async () => {
  const memory = memoryStore({ now: () => 1 });
  const { id: chat } = await memory.openChat({ owner: "alice", name: "chat", appName: "app" });
  const id = "1".repeat(32);
  await memory.saveFile({ id, chat, mediaType: "text/plain", data: Buffer.alloc(6 * kibibyte, "x") });
  let read = 0;
  const store = overrideStore(memory, {
    async getFile(...asked) {
      const file = await memory.getFile(...asked);
      read += file?.data.byteLength ?? 0;
      return file;
    },
  });
  const files = new FilesByValue(store, chat, { message: 20 * kibibyte, files: 9 * kibibyte });
  const words: UIMessage = { id: "w", role: "user", parts: [{ type: "text", text: "x".repeat(19 * kibibyte) }] };
  const picture: UIMessage = {
    id: "m",
    role: "user",
    parts: [{ type: "file", url: fileAddress(id), mediaType: "text/plain" }],
  };
  expect(await files.message(words)).toEqual(words);
  expect((await files.message(picture)).parts[0]).toMatchObject({ url: expect.stringMatching(/^data:/) });
  expect(await files.message(picture)).toEqual(picture);
  expect(read).toBe(6 * kibibyte);
});

test("an output that only looks like a preview makes no room for files", async () => {
  const store = memoryStore({ now: () => 1 });
  const { id: chat } = await store.openChat({ owner: "alice", name: "chat", appName: "app" });
  const id = "1".repeat(32);
  await store.saveFile({ id, chat, mediaType: "text/plain", data: Buffer.alloc(6 * kibibyte, "x") });
  const files = new FilesByValue(store, chat, { message: 2 * kibibyte, files: 2 * kibibyte });
  const output = { preview: "x", size: -1e9, url: fileAddress(id) };
  const message: UIMessage = {
    id: "m",
    role: "assistant",
    parts: [
      { type: "tool-find", toolCallId: "c", state: "output-available", input: {}, output },
      { type: "file", url: fileAddress(id), mediaType: "text/plain" },
    ],
  };
  expect(await files.message(message)).toEqual(message);
});
