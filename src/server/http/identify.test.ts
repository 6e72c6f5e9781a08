import { describe, expect, test, vi } from "vitest";
import { type Logger, silentLogger } from "../../agent/index.ts";
import { type Authenticate, identify } from "./identify.ts";

const request = new Request("http://127.0.0.1:3000/stream");

function open() {
  const errors: string[] = [];
  const logger: Logger = { ...silentLogger, error: (text, fields) => void errors.push(text + JSON.stringify(fields)) };
  const ask = (authenticate: unknown, authenticateMs?: number) =>
    identify(request, authenticate as Authenticate, {
      logger,
      ...(authenticateMs !== undefined && { authenticateMs }),
    });
  return { errors, ask };
}

describe("who sends a request", () => {
  test("a string is the owner and the actor", async () => {
    const { ask } = open();
    expect(await ask(() => "alice")).toEqual({ owner: "alice", actor: "alice" });
    expect(await ask(async () => ({ owner: "alice" }))).toEqual({ owner: "alice", actor: "alice" });
  });

  test("an owner may have several actors", async () => {
    const { ask } = open();
    expect(await ask(() => ({ owner: "team", actor: "bob" }))).toEqual({ owner: "team", actor: "bob" });
  });

  test.each([undefined, null, ""])("%j means no one, which is not an error", async (found) => {
    const { ask, errors } = open();
    await expect(ask(() => found)).rejects.toMatchObject({ code: "unauthenticated" });
    expect(errors).toEqual([]);
  });

  test.each([
    [["alice"], "owner", "an array"],
    [7, "owner", "a value of type number"],
    [true, "owner", "a value of type boolean"],
    [{}, "owner", "undefined"],
    [{ owner: "" }, "owner", "an empty string"],
    [{ owner: ["alice"] }, "owner", "an array"],
    [{ owner: 7 }, "owner", "a value of type number"],
    [{ owner: { name: "alice", token: "secret" } }, "owner", "a value of type object"],
    [{ owner: "a\ud800" }, "owner", "a string with other characters"],
    [{ owner: "a\0b" }, "owner", "a string with other characters"],
    [{ owner: "alice", actor: "" }, "actor", "an empty string"],
    [{ owner: "alice", actor: null }, "actor", "null"],
    [{ owner: "alice", actor: ["alice"] }, "actor", "an array"],
    [{ owner: "alice", actor: "\udc00" }, "actor", "a string with other characters"],
  ])("X31: %j is refused, and the log says why without the value", async (found, field, kind) => {
    const { ask, errors } = open();
    await expect(ask(() => found)).rejects.toMatchObject({
      code: "unauthenticated",
      message: "This request is not authenticated.",
    });
    const rule = "non-empty, well-formed text without NUL characters";
    expect(errors).toEqual([`authenticate must return the ${field} as ${rule}; it returned ${kind}.undefined`]);
  });

  test("a hook that throws is an error of the server", async () => {
    const { ask } = open();
    const failing = () => {
      throw new Error("no database");
    };
    await expect(ask(failing)).rejects.toThrow("no database");
    await expect(ask(() => Promise.reject(new Error("no database")))).rejects.toThrow("no database");
  });

  test("a hook that hangs is given up after its time, and its late failure harms nothing", async () => {
    vi.useFakeTimers();
    try {
      const { ask } = open();
      let fail = (_error: Error) => {};
      const asking = ask(() => new Promise((_resolve, reject) => (fail = reject)), 500);
      const [refused] = await Promise.all([asking.catch((error: unknown) => error), vi.advanceTimersByTimeAsync(500)]);
      expect(refused).toMatchObject({ code: "unavailable" });
      fail(new Error("late"));
      await vi.advanceTimersByTimeAsync(0);
    } finally {
      vi.useRealTimers();
    }
  });
});
