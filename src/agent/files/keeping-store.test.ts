import type { UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import { isLargeOutput } from "../../protocol/index.ts";
import { appStore } from "../../stores/app-store.ts";
import { memoryStore } from "../../stores/memory.ts";
import { ChatFiles } from "./chat-files.ts";

const url = (bytes: number, fill = 7) => `data:image/png;base64,${Buffer.alloc(bytes, fill).toString("base64")}`;
const file = (address: string) => ({ type: "file", mediaType: "image/png", url: address }) as const;
const messageOf = (id: string, ...parts: UIMessage["parts"]): UIMessage => ({ id, role: "user", parts });

async function open() {
  const inner = memoryStore();
  const files = new ChatFiles({ store: appStore(inner, "app"), files: { inlineBytes: 5000 }, largeOutputBytes: 100 });
  const { id: chat } = await files.store.openChat({ owner: "alice", name: "chat", appName: "app" });
  return { inner, files, store: files.store, chat };
}

describe("the store without what is large", () => {
  it("stores files of the log and of messages by address, and gives small ones back as they were", async () => {
    const { inner, store, chat } = await open();
    const sent = messageOf("u1", file(url(2000)), file(url(6000)), file("data:image/png;base64,AAAA"));
    await store.append(chat, [
      { turn: "t", kind: "begin", reply: "r", message: sent },
      { turn: "t", kind: "chunk", chunk: file(url(2000)) },
    ]);
    const stored = JSON.stringify([await inner.read(chat), await inner.messages(chat)]);
    expect(stored).not.toContain("BwcHBwcHBwc");
    expect(stored).toContain("AAAA");
    const shown = [url(2000), expect.stringMatching(/^\/files\/\w{32}$/), "data:image/png;base64,AAAA"].map((address) =>
      expect.objectContaining({ url: address }),
    );
    const [begin, chunk] = await store.read(chat);
    expect(begin).toMatchObject({ message: { parts: shown } });
    expect(chunk).toMatchObject({ chunk: file(url(2000)) });
    for (const message of [
      (await store.messages(chat))[0],
      await store.getMessage(chat, "u1"),
      await store.lastMessage(chat, "user"),
    ])
      expect(message).toMatchObject({ message: { parts: shown } });
  });

  it("gives a page of messages at most some megabytes as data URLs, the newest ones", async () => {
    const files = new ChatFiles({ store: appStore(memoryStore(), "app"), files: { inlineBytes: 4_000_000 } });
    const { store } = files;
    const { id: chat } = await store.openChat({ owner: "alice", name: "chat", appName: "app" });
    for (const index of [1, 2, 3])
      await store.append(chat, [
        { turn: `t${index}`, kind: "begin", reply: "r", message: messageOf(`u${index}`, file(url(3_000_000, index))) },
      ]);
    const page = await store.messages(chat);
    const kinds = page.map(({ message: { parts } }) => (parts[0]?.type === "file" ? parts[0].url.slice(0, 6) : ""));
    expect(kinds).toEqual(["/files", "data:i", "data:i"]);
    expect(page.map(({ size }) => size > 4_000_000)).toEqual([false, true, true]);
  });

  it("leaves a file that is gone as an address", async () => {
    const { inner, store, chat } = await open();
    await inner.append(chat, [
      { turn: "t", kind: "chunk", chunk: file(`/files/${"0".repeat(32)}#data:image/png;base64,`) },
    ]);
    expect((await store.read(chat))[0]).toMatchObject({ chunk: { url: `/files/${"0".repeat(32)}` } });
  });

  it("stores events by address, and fills in what is sent to the model, of this chat only", async () => {
    const { inner, files, store, chat } = await open();
    const data = Buffer.alloc(2000, 7).toString("base64");
    const response = { lines: "x".repeat(200) };
    const parts = [
      { inlineData: { mimeType: "image/png", data }, thoughtSignature: "sig" },
      { functionResponse: { id: "c", name: "work", response } },
      { text: "hi" },
    ];
    const content = { role: "user", parts };
    const kept = { functionResponse: { id: "k", name: "work", response } };
    const event = { id: "e", content, customMetadata: { kept: [kept], message: "m" } };
    const { event: stored } = await store.appendEvent(chat, { id: "e", event, responses: [] });
    expect(stored).toMatchObject({
      content: {
        parts: [
          {
            fileData: { mimeType: "image/png", fileUri: expect.stringMatching(/^\/files\//) },
            thoughtSignature: "sig",
          },
          { functionResponse: { id: "c", response: { size: 212, preview: expect.stringContaining("xxx") } } },
          { text: "hi" },
        ],
      },
      customMetadata: { kept: [{ functionResponse: { response: { size: 212 } } }], message: "m" },
    });
    expect(await inner.events(chat)).toHaveLength(1);
    const contents = [stored["content"] as typeof content];
    await files.fillIn(contents, chat);
    expect(contents).toEqual([content]);
    const others = [stored["content"] as typeof content];
    const { id: other } = await store.openChat({ owner: "mallory", name: "chat", appName: "app" });
    await files.fillIn(others, other);
    expect(JSON.stringify(others)).not.toContain(data);
    expect(others[0]?.parts[0]).toEqual({ text: "[a file that is not available any more]" });
  });

  it("does not take a tool's own value for the preview of a stored output", async () => {
    const { files, store, chat } = await open();
    await store.append(chat, [
      {
        turn: "t",
        kind: "chunk",
        chunk: { type: "tool-output-available", toolCallId: "c", output: { secret: "s".repeat(200) } },
      },
    ]);
    const [entry] = await store.read(chat);
    const output: unknown =
      entry?.kind === "chunk" && entry.chunk.type === "tool-output-available" ? entry.chunk.output : {};
    expect(isLargeOutput(output)).toBe(true);
    const forged = { ...(output as object), preview: "mine" };
    const contents = [{ role: "user", parts: [{ functionResponse: { name: "t", response: forged } }] }];
    await files.fillIn(contents, chat);
    expect(contents[0]?.parts[0]).toEqual({ functionResponse: { name: "t", response: forged } });
  });
});
