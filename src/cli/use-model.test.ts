import { expect, test } from "vitest";
import { modelSource } from "./use-model.ts";

test.each<[Record<string, string>, string]>([
  [{}, "script"],
  [{ GOOGLE_API_KEY: "" }, "script"],
  [{ GOOGLE_API_KEY: "k" }, "google"],
  [{ GEMINI_API_KEY: "k" }, "google"],
  [{ GOOGLE_GENAI_API_KEY: "k" }, "google"],
  [{ GOOGLE_GENAI_USE_VERTEXAI: "true" }, "vertex"],
  [{ GOOGLE_GENAI_USE_VERTEXAI: "false" }, "script"],
  [{ GOOGLE_GEMINI_BASE_URL: "http://127.0.0.1:1" }, "address"],
])("with %j the model is %s", (env, expected) => {
  expect(modelSource(env)).toBe(expected);
});
