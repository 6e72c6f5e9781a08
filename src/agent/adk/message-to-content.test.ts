import type { UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import { messageToContent } from "./message-to-content.ts";

const content = (...parts: UIMessage["parts"]) => messageToContent({ id: "u1", role: "user", parts });
const file = (url: string, mediaType = "image/png") => content({ type: "file", url, mediaType }).parts?.[0];

describe("a person's message for the model", () => {
  it("is the user's, part by part and in order", () => {
    expect(
      content(
        { type: "text", text: "See this:" },
        { type: "file", url: "data:image/png;base64,AAAA", mediaType: "image/png" },
        { type: "text", text: "Nice?" },
      ),
    ).toEqual({
      role: "user",
      parts: [{ text: "See this:" }, { inlineData: { mimeType: "image/png", data: "AAAA" } }, { text: "Nice?" }],
    });
  });

  it("leaves out empty text, which ADK takes for no message at all", () => {
    expect(content({ type: "text", text: "" }, { type: "text", text: "Hi." }).parts).toEqual([{ text: "Hi." }]);
  });

  it("leaves out parts that are not a person's to say", () => {
    expect(
      content({ type: "step-start" }, { type: "reasoning", text: "Hm." }, { type: "data-approval", data: {} }).parts,
    ).toEqual([]);
  });

  it("names a file by its address", () => {
    expect(file("gs://bucket/a.pdf", "application/pdf")).toEqual({
      fileData: { mimeType: "application/pdf", fileUri: "gs://bucket/a.pdf" },
    });
  });

  it.each([
    ["with parameters", "data:text/plain;charset=utf-8;base64,aGk=", { mimeType: "text/plain", data: "aGk=" }],
    ["in capitals", "DATA:image/png;BASE64,AAAA", { mimeType: "image/png", data: "AAAA" }],
    ["without a type, which the part knows", "data:;base64,AAAA", { mimeType: "image/png", data: "AAAA" }],
    [
      "as text",
      "data:text/plain,h%C3%A9%20you",
      { mimeType: "text/plain", data: Buffer.from("hé you").toString("base64") },
    ],
    [
      "as text that is not encoded well",
      "data:text/plain,100%",
      { mimeType: "text/plain", data: Buffer.from("100%").toString("base64") },
    ],
    [
      "with commas in it",
      "data:text/plain,a,b",
      { mimeType: "text/plain", data: Buffer.from("a,b").toString("base64") },
    ],
    ["with nothing in it", "data:image/png;base64,", { mimeType: "image/png", data: "" }],
  ])("carries a data URL %s by value", (_, url, inlineData) => {
    expect(file(url)).toEqual({ inlineData });
  });

  it("takes a data URL without data for an address", () => {
    expect(file("data:image/png")).toEqual({ fileData: { mimeType: "image/png", fileUri: "data:image/png" } });
  });
});
