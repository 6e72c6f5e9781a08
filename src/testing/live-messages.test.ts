import { expect, it } from "vitest";
import { parseLiveMessage } from "./live-messages.ts";

it.each([
  { setup: { model: "models/m", generationConfig: { temperature: 0 } } },
  { clientContent: { turns: [{ role: "user", parts: [{ text: "hi" }] }], turnComplete: true } },
  { realtimeInput: { audio: { data: "AAAA" } } },
  { toolResponse: { functionResponses: [{ id: "1", response: { ok: true } }] } },
])("a message is read with all its fields %#", (message) => {
  expect(parseLiveMessage(JSON.stringify(message))).toEqual(message);
});

it.each([
  ["text that is not JSON", "{", "Invalid JSON payload received."],
  ["a message without a known field", "{}", "a message is one of setup"],
  ["a message with two", '{"setup":{"model":"m"},"realtimeInput":{}}', "a message is one of setup"],
  ["a field of another type", '{"clientContent":{"turns":"hi"}}', "Invalid value at 'clientContent.turns'"],
])("%s is refused with a sentence", (_, text, sentence) => {
  expect(parseLiveMessage(text)).toContain(sentence);
});
