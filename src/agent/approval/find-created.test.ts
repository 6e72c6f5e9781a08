import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { BridgeError } from "../../protocol/index.ts";
import { type Approval, NotOwner } from "../../stores/index.ts";
import { HoldUnknown } from "../adk/entered-run.ts";
import { findCreated } from "./find-created.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

const row = { id: "apr_1" } as Approval;
const away = new BridgeError("unavailable", "The database does not answer.");

/** What is found by a store that fails so many times, as a result or as an error. */
async function find(failure: unknown, found: Approval | undefined, failures = 0): Promise<unknown> {
  let left = failures;
  const getApproval = async () => {
    left -= 1;
    if (left >= 0) throw away;
    return found;
  };
  const [result] = await Promise.allSettled([
    findCreated(row.id, failure, { getApproval }),
    vi.advanceTimersByTimeAsync(60_000),
  ]);
  return result.status === "fulfilled" ? result.value : result.reason;
}

it("finds a row whose creation was only reported as failed", async () => {
  expect(await find(away, row)).toBe(row);
  expect(await find(new Error("A socket was closed."), row, 4)).toBe(row);
});

it("passes the error on without a row, and what the store refused in any case", async () => {
  expect(await find(away, undefined)).toBe(away);
  const refused = new BridgeError("too_many", "Too many calls wait.");
  expect(await find(refused, row)).toBe(refused);
  const elsewhere = new NotOwner("chat");
  expect(await find(elsewhere, row)).toBe(elsewhere);
});

it("says that it is not known while the store cannot be asked", async () => {
  expect(await find(away, row, Infinity)).toBeInstanceOf(HoldUnknown);
});
