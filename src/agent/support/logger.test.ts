import { afterEach, describe, expect, test, vi } from "vitest";
import { createConsoleLogger } from "./logger.ts";

const spies = () => ({
  info: vi.spyOn(console, "info").mockImplementation(() => undefined),
  warn: vi.spyOn(console, "warn").mockImplementation(() => undefined),
  error: vi.spyOn(console, "error").mockImplementation(() => undefined),
});
const names = ["info", "warn", "error"] as const;

afterEach(() => vi.restoreAllMocks());

describe("the logger for the console", () => {
  test.each([
    [undefined, [0, 1, 1]],
    ["info", [1, 1, 1]],
    ["warn", [0, 1, 1]],
    ["error", [0, 0, 1]],
  ] as const)("with the level %s leaves out what is less important", (level, expected) => {
    const printed = spies();
    const logger = createConsoleLogger(level && { level });
    for (const name of names) logger[name]("Something happened.", { chat: "c" });
    expect(names.map((name) => printed[name].mock.calls.length)).toEqual(expected);
    expect(printed.error).toHaveBeenCalledWith("Something happened. { chat: 'c' }");
  });

  test("prints one line for people, however many fields there are", () => {
    const { error } = spies();
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`field${index}`, "a\nb"]));
    createConsoleLogger().error("Something failed.", many);
    createConsoleLogger().error("Something failed.");
    expect(error.mock.calls[0]?.[0]).toMatch(/^Something failed\. \{ field0: 'a\\nb', .*field29: 'a\\nb' \}$/);
    expect(error.mock.calls[1]).toEqual(["Something failed."]);
  });

  test("prints one JSON object a line, whatever the fields are", () => {
    const { info } = spies();
    const logger = createConsoleLogger({ level: "info", json: true, now: () => 0 });
    const loop: Record<string, unknown> = {};
    loop["loop"] = loop;
    logger.info("A line.", { a: "x\ny", error: new Error("no"), big: 1n, level: "forged", none: undefined });
    logger.info("A line.", loop);
    logger.info("A line.");
    const lines = info.mock.calls.map(([line]) => line as string);
    for (const line of lines) expect(line).not.toContain("\n");
    const head = { time: "1970-01-01T00:00:00.000Z", level: "info", message: "A line." };
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      { ...head, a: "x\ny", error: "no", big: "1" },
      { ...head, fields: "These are not JSON." },
      head,
    ]);
  });

  test("refuses a level that it does not know", () => {
    expect(() => createConsoleLogger({ level: "debug" as "info" })).toThrow(
      'The option level must be info, warn or error; it is "debug".',
    );
  });
});
