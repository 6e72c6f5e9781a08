/** An agent whose model cannot be made, because there is no key. It is the first mistake that people make. */
import { LlmAgent } from "@google/adk";
import { createBridge } from "adk-stream-protocol";
import { SseChatTransport, WebSocketChatTransport } from "adk-stream-protocol/client";
import { listen } from "adk-stream-protocol/server";
import { memoryStore } from "adk-stream-protocol/stores/memory";
import type { UIMessage } from "ai";
import { expect, onTestFinished, test, vi } from "vitest";

const variables = [
  ...["GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_API_KEY"],
  ...["GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_ENTERPRISE"],
];

test.each(["SSE", "a live connection"])(
  "without a key the reply over %s is an error, and the log says why",
  async (way) => {
    for (const name of variables) vi.stubEnv(name, "");
    onTestFinished(() => void vi.unstubAllEnvs());
    const logged: unknown[] = [];
    const log = (...all: unknown[]) => void logged.push(...all);
    const agent = new LlmAgent({ name: "helper", model: "gemini-2.5-flash" });
    const store = memoryStore();
    const bridge = await createBridge({
      ...{ agent, store, logger: { info: log, warn: log, error: log } },
      live: { model: "gemini-live-2.5-flash-preview" },
    });
    const server = await listen({ bridge, port: 0 });
    const socket = new WebSocketChatTransport({ url: `${server.url.replace("http", "ws")}/live` });
    onTestFinished(async () => {
      socket.close();
      await server.close();
      await bridge.close();
      await store.close();
    });

    const transport = way === "SSE" ? new SseChatTransport({ api: server.url }) : socket;
    const message: UIMessage = { id: "m1", role: "user", parts: [{ type: "text", text: "Hello" }] };
    const reply = await transport.sendMessages({
      ...{ trigger: "submit-message", chatId: "c1", messageId: undefined, messages: [message] },
      abortSignal: undefined,
    });
    const errors: string[] = [];
    for await (const chunk of reply) if (chunk.type === "error") errors.push(chunk.errorText);
    expect(errors).toEqual([expect.stringMatching(/Something went wrong on the server|API key/)]);
    expect(JSON.stringify(logged)).toContain("API key must be provided");
  },
);
