import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { createBrowserTools } from "./browser-tools.ts";
import { createMusic } from "./music.ts";

/** Asks for the location in a chat that has a call with this part. There is no location here. */
async function locateAfter(change: object): Promise<string> {
  const part = { type: "tool-get_location", toolCallId: "c", state: "input-available", input: {}, ...change };
  const messages = [{ id: "m", role: "assistant", parts: [part] }] as UIMessage[];
  const { get_location: locate } = createBrowserTools(createMusic(), () => messages) as Record<
    string,
    (input: object, call: { toolCallId: string; signal: AbortSignal }) => Promise<unknown>
  >;
  const { signal } = new AbortController();
  return locate!({}, { toolCallId: "c", signal }).then(String, (error: Error) => error.message);
}

test("the location is shared only after a yes, whatever the server says", async () => {
  const refusal = "The location is shared only after a yes.";
  expect(await locateAfter({})).toBe(refusal);
  expect(await locateAfter({ state: "approval-requested", approval: { id: "a" } })).toBe(refusal);
  expect(await locateAfter({ state: "approval-responded", approval: { id: "a", approved: false } })).toBe(refusal);
  expect(await locateAfter({ toolCallId: "other", approval: { id: "a", approved: true } })).toBe(refusal);
  expect(await locateAfter({ state: "approval-responded", approval: { id: "a", approved: true } })).toBe(
    "This browser cannot tell its location.",
  );
});
