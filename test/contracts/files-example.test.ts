/** The examples of docs/files.md. Each block of that page is a part of this file, and what the page says is checked here. */
import { readFileSync } from "node:fs";
import { FunctionTool, LlmAgent, LogLevel, setLogLevel } from "@google/adk";
import { type BridgeOptions, createBridge, silentLogger } from "adk-stream-protocol";
import { isLargeOutput } from "adk-stream-protocol/protocol";
import { memoryStore } from "adk-stream-protocol/stores/memory";
import { call, geminiAt, startScriptedGemini, text } from "adk-stream-protocol/testing";
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { z } from "zod";

setLogLevel(LogLevel.ERROR);

const options: Partial<BridgeOptions> = {
  files: {
    types: ["image/*", "application/pdf", "text/plain"],
    maxBytes: 2 * 1024 * 1024,
    allowUrl: ["https://cdn.example/public/"],
  },
  largeOutputBytes: 64 * 1024,
};

function outputText(output: unknown): string {
  if (!isLargeOutput(output)) return JSON.stringify(output);
  return `${output.preview}… (${output.size} bytes, see ${output.url})`;
}

test("the options and the preview work as the page says", async () => {
  const gemini = await startScriptedGemini({
    rules: [
      { when: ({ responses }) => responses.length > 0, say: [text("Done.")] },
      { when: /report/, say: [call("make_report")] },
      { say: [text("Nice.")] },
    ],
  });
  const report = new FunctionTool({
    name: "make_report",
    description: "Makes a report.",
    parameters: z.object({}),
    execute: () => ({ lines: "x".repeat(70_000) }),
  });
  const model = geminiAt({ model: "gemini-2.5-flash", url: gemini.url });
  const agent = new LlmAgent({ name: "agent", model, instruction: "Help.", tools: [report] });
  const store = memoryStore();
  const bridge = await createBridge({ agent, store, logger: silentLogger, ...options });
  const send = async (...parts: UIMessage["parts"]) => {
    const message: UIMessage = { id: crypto.randomUUID(), role: "user", parts };
    const reply = await bridge.submit("alice", "chat", { type: "message", message });
    if ("turn" in reply) await reply.turn.done;
  };
  const file = (url: string, mediaType: string) => ({ type: "file", url, mediaType }) as const;
  await send({ type: "text", text: "Look." }, file("https://cdn.example/public/a.png", "image/png"));
  await expect(send(file("gs://bucket/a.png", "image/png"))).rejects.toThrow("files.allowUrl");
  await expect(send(file("data:text/html,hi", "text/html"))).rejects.toThrow("Allowed are image/*, application/pdf");
  await send({ type: "text", text: "A report." });
  const tool = (await bridge.messages("alice", "chat")).at(-1)?.parts.find((part) => part.type === "tool-make_report");
  const shown = outputText(tool && "output" in tool ? tool.output : undefined);
  expect(shown).toMatch(/^\{"lines":"x+… \(70012 bytes, see \/files\/[0-9a-f]{32}\)$/);
  expect(outputText({ a: 1 })).toBe('{"a":1}');
  await bridge.close();
  await gemini.close();
});

test("docs/files.md shows examples that are compiled and run with the tests", () => {
  const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
  const blocks = [...read("docs/files.md").matchAll(/```ts\n([\s\S]*?)```/g)].map(([, block = ""]) => block);
  expect(blocks.length).toBeGreaterThan(0);
  for (const block of blocks) expect(read("test/contracts/files-example.test.ts")).toContain(block);
});
