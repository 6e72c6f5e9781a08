import type { FileUIPart, UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import type { BridgeError } from "../../protocol/index.ts";
import { appStore } from "../../stores/app-store.ts";
import { memoryStore } from "../../stores/memory.ts";
import { ChatFiles } from "./chat-files.ts";
import { checkFileOptions, type FileOptions } from "./file-options.ts";

const chat = { owner: "alice", name: "chat", appName: "app" };
const png = Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), Buffer.alloc(3000, 7)]);
const dataUrl = (data: Buffer | string, type = "image/png") =>
  `data:${type};base64,${Buffer.from(data).toString("base64")}`;
const file = (url: string, mediaType = "image/png", filename?: string): FileUIPart => ({
  ...{ type: "file", url, mediaType },
  ...(filename !== undefined && { filename }),
});
const messageOf = (...parts: UIMessage["parts"]): UIMessage => ({ id: "u1", role: "user", parts });

function open(files?: FileOptions) {
  const store = memoryStore();
  const chatFiles = new ChatFiles({ store: appStore(store, "app"), ...(files && { files }) });
  const take = async (...parts: UIMessage["parts"]) => (await chatFiles.take(messageOf(...parts), chat)).parts;
  const refusal = async (...parts: UIMessage["parts"]) => {
    const error = await take(...parts).then(
      () => undefined,
      (reason: BridgeError) => reason,
    );
    expect(await store.findChat(chat.owner, chat.name, "app"), "a refused message makes no chat").toBeUndefined();
    return `${error?.code}: ${error?.message}`;
  };
  return { store, chatFiles, take, refusal };
}

describe("the files of a user's message", () => {
  it("stay as they were sent up to inlineBytes, and get an address above it", async () => {
    const { store, take } = open({ inlineBytes: 3500 });
    const large = dataUrl(Buffer.concat([png, png]));
    const [small, moved] = await take(file(dataUrl(png)), file(large, "image/png", "map.png"));
    expect(small).toEqual(file(dataUrl(png)));
    expect(moved).toEqual({
      ...file("", "image/png", "map.png"),
      url: expect.stringMatching(/^\/files\/[0-9a-f]{32}$/),
    });
    const id = (moved as FileUIPart).url.slice("/files/".length);
    expect(await store.findFile("alice", id, "app")).toMatchObject({
      mediaType: "image/png",
      name: "map.png",
      data: new Uint8Array(Buffer.concat([png, png])),
    });
    expect(await store.findFile("mallory", id, "app")).toBeUndefined();
  });

  it.each([
    "gs://bucket/secret.pdf",
    "http://169.254.169.254/computeMetadata/v1/",
    "http://metadata.google.internal/",
    "https://example.com/a.png",
    "file:///etc/passwd",
    "//evil.test/a.png",
    "/files/../approvals",
    "/files/0123",
    "javascript:alert(1)",
    "",
  ])("X23: are not fetched from %s", async (url) => {
    const { refusal } = open();
    expect(await refusal(file(url))).toMatch(/^invalid: The address .* is not allowed\. Send the file as a data URL/);
  });

  it("may come from addresses that are allowed, compared as URLs", async () => {
    const { take, refusal } = open({ allowUrl: ["https://cdn.example/public/"] });
    for (const url of [
      "https://cdn.example/private/a.png",
      "https://cdn.example/public/../private/a.png",
      "https://cdn.example.evil.test/public/a.png",
      "https://cdn.example/public/\\../a.png",
      "https://user@cdn.example/public/a.png",
      "http://cdn.example/public/a.png",
    ])
      expect(await refusal(file(url)), url).toContain("not allowed");
    const allowed = file("https://cdn.example/public/a.png");
    expect(await take(allowed)).toEqual([allowed]);
  });

  it("are not allowed by a function that throws or returns something else than true", async () => {
    const throws = open({
      allowUrl: () => {
        throw new Error("no");
      },
    });
    expect(await throws.refusal(file("https://a.example/a.png"))).toContain("not allowed");
    const promises = open({ allowUrl: (() => Promise.resolve(false)) as unknown as () => boolean });
    expect(await promises.refusal(file("https://a.example/a.png"))).toContain("not allowed");
    const yes = open({ allowUrl: (url) => url.endsWith(".png") });
    expect(await yes.take(file("https://a.example/a.png"))).toHaveLength(1);
  });

  it.each<[what: string, url: string, type: string, refusal: RegExp]>([
    ["base64 that is not valid", "data:image/png;base64,AAA", "image/png", /^invalid: .*valid base64/],
    ["base64 with other characters", "data:image/png;base64,AA*A", "image/png", /^invalid: .*valid base64/],
    ["no content", "data:image/png", "image/png", /^invalid: .*comma/],
    ["broken percent-encoding", "data:text/plain,100%", "text/plain", /^invalid:/],
    ["two types", dataUrl(png, "image/gif"), "image/png", /^invalid: The media type/],
    [
      "the content of another type",
      dataUrl("%PDF-1.7"),
      "image/png",
      /^unsupported_media_type: The content of a file is not image\/png/,
    ],
    [
      "a type that can run",
      dataUrl("<svg/>", "image/svg+xml"),
      "image/svg+xml",
      /^unsupported_media_type: Files of the type/,
    ],
    ["HTML", dataUrl("<b>", "text/html"), "text/html", /^unsupported_media_type:/],
    ["no type", "data:,a", "", /^unsupported_media_type:/],
  ])("are refused with %s", async (_, url, type, expected) => {
    expect(await open().refusal(file(url, type))).toMatch(expected);
  });

  it("are bounded in number, size and name", async () => {
    const { refusal, take } = open({ maxBytes: 3100, maxFiles: 2 });
    const [one, ...rest] = [file(dataUrl(png)), file(dataUrl(png)), file(dataUrl(png))] as const;
    expect(await refusal(one, ...rest)).toBe("too_large: A message may have at most 2 files; this one has 3.");
    expect(await refusal(file(dataUrl(Buffer.alloc(3101))))).toBe(
      "too_large: A file may have at most 3100 bytes; a file has more.",
    );
    expect(await refusal(file(dataUrl(Buffer.alloc(30_000))))).toContain("at most 3100 bytes");
    expect(await refusal(file(dataUrl(png), "image/png", "n".repeat(257)))).toContain("longer than 256 characters");
    expect(await take(one, ...rest.slice(1))).toHaveLength(2);
  });

  it("may be of types that the server's owner chooses", async () => {
    const { take, refusal } = open({ types: ["image/*", "application/zip"] });
    expect(await refusal(file(dataUrl("a", "text/plain"), "text/plain"))).toContain(
      "Allowed are image/*, application/zip.",
    );
    expect(
      await take(file(dataUrl(png)), file(dataUrl("PK\x03\x04", "application/zip"), "application/zip")),
    ).toHaveLength(2);
  });

  it("can be named by an address that the owner has from another chat, and then belong to both", async () => {
    const { store, chatFiles, take, refusal } = open({ inlineBytes: 10 });
    const other = { ...chat, name: "other" };
    const [sent] = (await chatFiles.take(messageOf(file(dataUrl(png))), other)).parts as FileUIPart[];
    const url = sent?.url ?? "";
    const mallory = chatFiles.take(messageOf(file(url)), { ...chat, owner: "mallory" });
    await expect(mallory).rejects.toMatchObject({ code: "not_found" });
    expect(await take(file(url))).toEqual([file(url)]);
    const first = await store.findChat("alice", "other", "app");
    await store.deleteSession(first?.id ?? "");
    expect(await store.findFile("alice", url.slice(7), "app")).toBeDefined();
    const second = await store.findChat("alice", "chat", "app");
    await store.deleteSession(second?.id ?? "");
    expect(await refusal(file(url))).toBe(`not_found: There is no file ${url.slice(7)}.`);
  });
});

describe("the options for files", () => {
  it.each([
    [{ files: "image/png" }, "files must be an object"],
    [{ files: { types: ["png"] } }, "files.types"],
    [{ files: { maxBytes: -1 } }, "files.maxBytes"],
    [{ files: { maxFiles: "20" } }, "files.maxFiles"],
    [{ files: { inlineBytes: Number.NaN } }, "files.inlineBytes"],
    [{ files: { allowUrl: ["https://cdn.example"] } }, "files.allowUrl"],
    [{ files: { allowUrl: "https://cdn.example/" } }, "files.allowUrl"],
    [{ largeOutputBytes: 0 }, "largeOutputBytes"],
  ])("are checked: %j", (options, name) => {
    expect(() => checkFileOptions(options)).toThrow(name);
  });
});
