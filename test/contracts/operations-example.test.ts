/** The examples of docs/operations.md. Each block of that page is a part of this file. */
import { LlmAgent } from "@google/adk";
import { metrics } from "@opentelemetry/api";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { createBridge, createConsoleLogger } from "adk-stream-protocol";
import { listen } from "adk-stream-protocol/server";
import { memoryStore } from "adk-stream-protocol/stores/memory";
import { geminiAt } from "adk-stream-protocol/testing";
import { afterAll, expect, test, vi } from "vitest";

const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const printed = vi.spyOn(console, "info").mockImplementation(() => undefined);

metrics.setGlobalMeterProvider(
  new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 15_000 })] }),
);

const logger = createConsoleLogger({ level: "info", json: true });

const agent = new LlmAgent({
  name: "cashier",
  model: geminiAt({ model: "gemini-2.5-flash", url: "http://127.0.0.1:1" }),
});
const store = memoryStore();
const bridge = await createBridge({ agent, store, logger });
const server = await listen({ bridge, port: 0, logger });

async function stop(): Promise<void> {
  await bridge.close(); // From here on /ready is 503. Running tools get drainMs.
  await server.close();
  await store.close();
}
process.once("SIGTERM", () => void stop());

afterAll(() => {
  process.removeAllListeners("SIGTERM");
  metrics.disable();
});

test("a server stops in order, and its port is free afterwards", async () => {
  expect((await fetch(`${server.url}/ready`)).status).toBe(200);
  await stop();
  await expect(fetch(`${server.url}/ready`)).rejects.toThrow("fetch failed");
});

test("the logger prints JSON", () => {
  logger.info("A line.", { chat: "c" });
  expect(JSON.parse(printed.mock.lastCall?.[0] as string)).toMatchObject({
    level: "info",
    message: "A line.",
    chat: "c",
  });
});
