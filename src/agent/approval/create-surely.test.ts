import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { BridgeError } from "../../protocol/index.ts";
import { type Approval, NotOwner } from "../../stores/index.ts";
import { HoldUnknown } from "../adk/entered-run.ts";
import { createSurely } from "./create-surely.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

const row = { id: "apr_1" } as Approval;
const away = new BridgeError("unavailable", "The database does not answer.", { cause: new Error("ECONNRESET") });
const refused = new BridgeError("too_many", "Too many calls wait.");
const full = new BridgeError("unavailable", "At most 9 calls may wait at once on this server.");

/** What comes of a store that fails with these errors, one after the other, and how often it was asked. */
async function create(...failures: unknown[]): Promise<{ result: unknown; times: number }> {
  let times = 0;
  const creating = createSurely(async () => {
    times += 1;
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
    return row;
  });
  const [settled] = await Promise.allSettled([creating, vi.advanceTimersByTimeAsync(60_000)]);
  return { result: settled.status === "fulfilled" ? settled.value : settled.reason, times };
}

it("creates a row although the store is away at first", async () => {
  expect(await create(away, away, away, away)).toEqual({ result: row, times: 5 });
});

it("passes on at once what the store refuses", async () => {
  for (const refusal of [refused, full, new NotOwner("chat"), new Error("A constraint is violated.")])
    expect(await create(refusal)).toEqual({ result: refusal, times: 1 });
});

it("says that it is not known while the store is away, and if it refuses another attempt", async () => {
  expect(await create(away, away, away, away, away)).toMatchObject({ result: expect.any(HoldUnknown), times: 5 });
  expect(await create(away, refused)).toMatchObject({ result: expect.any(HoldUnknown), times: 2 });
});
