import { expect, test } from "vitest";
import { BridgeError } from "../protocol/errors.ts";
import { deliverResult } from "./deliver-result.ts";

/** Delivers a result to a server that refuses what `refuses` says. Returns what was sent. */
async function deliver(result: unknown, refuses: (sent: unknown) => Error | undefined = () => undefined) {
  return (await tryToDeliver(result, refuses)).sent;
}

async function tryToDeliver(result: unknown, refuses: (sent: unknown) => Error | undefined) {
  const left = new AbortController();
  const sent: unknown[] = [];
  const connection = {
    async sendToolResult(given: { result: unknown }) {
      sent.push(JSON.parse(JSON.stringify(given.result)));
      if (given.result === "left") left.abort();
      const error = refuses(given.result);
      if (error) throw error;
    },
  };
  const chat = { id: "chat-1", connection, approvals: { refresh: async () => undefined } };
  const isDelivered = await deliverResult(chat as never, { toolCallId: "c1", result }, left.signal);
  return { sent, isDelivered };
}

const circular: Record<string, unknown> = {};
circular["self"] = circular;

test.each([
  ["a circular object", circular],
  ["a BigInt", 10n],
])("%s is reported as a failure: otherwise the call would wait, and run again with each reload", async (_, result) => {
  expect(await deliver(result)).toEqual([{ error: expect.stringMatching(/^The tool ran, but/) }]);
});

test("a function has no value as JSON", async () => {
  expect(await deliver(() => 1)).toEqual([null]);
});

test.each(["too_large", "invalid"] as const)(
  "a result that is refused as %s is reported as a failure",
  async (code) => {
    const refuses = (sent: unknown) => (sent === "large" ? new BridgeError(code, "Too much.") : undefined);
    expect(await deliver("large", refuses)).toEqual([
      "large",
      { error: "The tool ran, but its result was refused. Too much." },
    ]);
  },
);

test("a failure that is refused is not sent again", async () => {
  expect(await deliver("large", () => new BridgeError("invalid", "No."))).toHaveLength(2);
  expect(await deliver("late", () => new BridgeError("conflict", "Decided."))).toHaveLength(1);
});

test.each([
  ["taken", "result", (): undefined => undefined, true],
  ["taken after the page has left the chat", "left", (): undefined => undefined, true],
  ["refused because the call has another outcome", "late", () => new BridgeError("conflict", "Decided."), true],
  ["refused, and so is the failure", "large", () => new BridgeError("invalid", "No."), false],
  ["lost because the page has left the chat", "left", () => new TypeError("fetch failed"), false],
] as const)("a result that is %s says whether the server has one", async (_, result, refuses, isDelivered) => {
  expect(await tryToDeliver(result, refuses)).toMatchObject({ isDelivered });
});
