import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { UpgradeListeners } from "./upgrade-listeners.ts";

const [one, two] = [() => {}, () => {}];

test("each of two agents on one server gets its own handshakes, and one of them refuses the rest", () => {
  const server = new EventEmitter();
  const listeners = UpgradeListeners.of(server);
  listeners.add(one, "/one");
  listeners.add(two, "/two/");
  const takers = (target: string) => [one, two].map((listener) => listeners.isFor(listener, target));
  expect(takers("/one/live?sequence=1")).toEqual([true, false]);
  expect(takers("/two/live")).toEqual([false, true]);
  expect(takers("/live")).toEqual([true, false]);
  server.on("upgrade", () => {});
  expect(takers("/live")).toEqual([false, false]);
});

test("two listeners that would take the same handshakes are refused", () => {
  const server = new EventEmitter();
  const listeners = UpgradeListeners.of(server);
  listeners.add(one, "/agent");
  for (const basePath of ["/agent", "/agent/", undefined])
    expect(() => UpgradeListeners.of(server).add(two, basePath)).toThrow("This server has a /live already.");
  listeners.remove(one);
  expect(server.listenerCount("upgrade")).toBe(0);
  listeners.add(two, undefined);
  expect(() => listeners.add(one, "/agent")).toThrow("This server has a /live already.");
});
