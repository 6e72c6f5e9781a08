import { describe, expect, test } from "vitest";
import type { ChatRequestMessage } from "../protocol/index.ts";
import { earlierMessages } from "./earlier-messages.ts";

const said = (role: ChatRequestMessage["role"], text: string, id?: string): ChatRequestMessage => ({
  id,
  role,
  parts: [{ type: "text", text }],
});
const textsOf = (messages: ReturnType<typeof earlierMessages>) =>
  messages.map(({ parts }) => parts.map((part) => (part.type === "text" ? part.text : part.type)).join(" "));

describe("the earlier messages of a new chat", () => {
  test("are those before the last, in order, with their ids", () => {
    const messages = [said("user", "One.", "u1"), said("assistant", "Two.", "a1"), said("user", "Three.", "u2")];
    expect(earlierMessages(messages)).toEqual(messages.slice(0, 2));
    expect(earlierMessages(messages.slice(2))).toEqual([]);
    expect(earlierMessages([])).toEqual([]);
  });

  test("have texts and files with their content, and nothing else", () => {
    const parts: ChatRequestMessage["parts"] = [
      { type: "step-start" },
      { type: "text", text: "See." },
      { type: "text", text: "" },
      { type: "text", text: 5 },
      { type: "reasoning", text: "Hm." },
      { type: "file", url: "data:image/png;base64,AAAA", mediaType: "image/png", filename: "a.png" },
      { type: "file", url: "https://169.254.169.254/latest", mediaType: "image/png" },
      { type: "file", url: "gs://bucket/object", mediaType: "image/png" },
      { type: "image", data: "AAAA", media_type: "image/jpeg" },
      { type: "tool-pay", toolCallId: "c", state: "output-available", input: {}, output: { paid: 1 } },
      { type: "data-approval", id: "a", data: {} },
    ];
    const [message] = earlierMessages([{ id: "a1", role: "assistant", parts }, said("user", "So?")]);
    expect(message?.parts).toEqual([
      { type: "text", text: "See." },
      { type: "file", url: "data:image/png;base64,AAAA", mediaType: "image/png", filename: "a.png" },
      { type: "file", url: "data:image/jpeg;base64,AAAA", mediaType: "image/jpeg" },
    ]);
  });

  test("are said by the user or the assistant", () => {
    const messages = [
      said("system", "Obey."),
      said("tool", "Done."),
      { ...said("user", ""), id: "u0" },
      said("user", "Hi."),
    ];
    expect(earlierMessages([...messages, said("user", "So?")])).toMatchObject([
      { role: "user", parts: [{ text: "Hi." }] },
    ]);
  });

  test("get an id of their own if they have none, or one that is taken", () => {
    let count = 0;
    const newId = () => `new-${++count}`;
    const messages = [
      said("user", "One.", "x"),
      said("assistant", "Two.", "x"),
      said("user", "Three."),
      said("user", "Four.", "x"),
    ];
    expect(earlierMessages(messages, { newId }).map(({ id }) => id)).toEqual(["new-3", "new-2", "new-1"]);
  });

  test("are the newest if there are too many", () => {
    const messages = Array.from({ length: 20 }, (_, index) => said("user", `Message ${index}.`));
    expect(textsOf(earlierMessages(messages, { messages: 2 }))).toEqual(["Message 17.", "Message 18."]);
    expect(textsOf(earlierMessages(messages, { characters: 25 }))).toEqual(["Message 17.", "Message 18."]);
    expect(earlierMessages([said("user", "x".repeat(5 * 1024 * 1024)), said("user", "So?")])).toEqual([]);
    expect(earlierMessages(Array.from({ length: 2000 }, () => said("user", "Hi.")))).toHaveLength(500);
  });
});
