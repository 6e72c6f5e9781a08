import { Gemini, LogLevel, setLogLevel } from "@google/adk";
import { afterEach, expect, it, vi } from "vitest";
import { geminiAt } from "./gemini-at.ts";
import { text } from "./script.ts";
import { startScriptedGemini } from "./scripted-gemini.ts";

setLogLevel(LogLevel.ERROR);
afterEach(() => vi.unstubAllEnvs());

it("gives each instance its own address, whatever the environment says", async () => {
  vi.stubEnv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:1");
  vi.stubEnv("GOOGLE_API_KEY", "not this one");
  const servers = await Promise.all(
    ["one", "two"].map((said) => startScriptedGemini({ rules: [{ say: [text(said)] }] })),
  );
  const responses = await Promise.all(
    servers.map(async ({ url }) => {
      const model = geminiAt({ model: "gemini-2.5-flash", url });
      const request = { contents: [{ role: "user", parts: [{ text: "hi" }] }], liveConnectConfig: {}, toolsDict: {} };
      const { value } = await model.generateContentAsync(request).next();
      return value?.content?.parts?.[0]?.text;
    }),
  );
  expect(responses).toEqual(["one", "two"]);
  await Promise.all(servers.map((server) => server.close()));
});

it("is ADK's own class, with the same address for live sessions", () => {
  const model = geminiAt({ model: "gemini-2.5-flash", url: "http://127.0.0.1:9" });
  expect(model).toBeInstanceOf(Gemini);
  expect(model.model).toBe("gemini-2.5-flash");
  expect(Reflect.get(model.liveApiClient, "apiClient").getBaseUrl()).toBe("http://127.0.0.1:9");
});
