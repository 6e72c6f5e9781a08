import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { approvalRow } from "../../../test/fixtures/approvals.ts";
import { type Logger, silentLogger } from "../support/index.ts";
import { type Authorize, Authorizer } from "./authorizer.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const yes = { approved: true };

function open(authorize?: unknown) {
  const warnings: unknown[] = [];
  const logger: Logger = { ...silentLogger, warn: (_words, fields) => void warnings.push(fields?.["error"]) };
  return { authorizer: new Authorizer({ authorize: authorize as Authorize, logger, limitMs: 500 }), warnings };
}

describe("who may decide", () => {
  const row = approvalRow({ owner: "alice", requestedBy: "ann" });

  it("without a hook: every actor of the owner", async () => {
    const { authorizer } = open();
    expect(await authorizer.allows({ owner: "alice", actor: "bob" }, row, yes)).toBe(true);
    expect(await authorizer.allows({ owner: "bob", actor: "alice" }, row, yes)).toBe(false);
    expect(await authorizer.decidable("alice", [row])).toEqual([]);
  });

  it("with a hook: whom it allows, whatever their owner; it gets the actor, the view and the decision", async () => {
    const seen: unknown[] = [];
    const { authorizer } = open((...given: unknown[]) => seen.push(given) && given[0] === "manager");
    expect(await authorizer.allows({ owner: "m", actor: "manager" }, row, { ...yes, reason: "fine" })).toBe(true);
    expect(await authorizer.allows({ owner: "alice", actor: "alice" }, row, yes)).toBe(false);
    expect(seen).toEqual([
      [
        "manager",
        expect.objectContaining({ id: row.id, owner: "alice", requestedBy: "ann", input: expect.anything() }),
        { approvalId: row.id, approved: true, reason: "fine" },
      ],
      ["alice", expect.objectContaining({ id: row.id }), { approvalId: row.id, approved: true }],
    ]);
  });

  it("no one while the hook hangs, and its late reply changes nothing", async () => {
    let reply = (_allowed: boolean) => {};
    const { authorizer, warnings } = open(() => new Promise<boolean>((resolve) => (reply = resolve)));
    const asking = authorizer.allows({ owner: "alice", actor: "alice" }, row, yes);
    await vi.advanceTimersByTimeAsync(500);
    reply(true);
    expect(await asking).toBe(false);
    expect(warnings).toEqual(["It did not return within 500 ms."]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("a list has what is allowed in time, and one warning", async () => {
    const rows = ["fast", "slow", "fails", "denies"].map((id) => approvalRow({ id }));
    const { authorizer, warnings } = open((_actor: string, { id }: { id: string }, { approved }: typeof yes) => {
      if (id === "fails") throw new Error("no");
      if (id === "slow") return new Promise(() => undefined);
      return id === "fast" || !approved;
    });
    const listing = authorizer.decidable("manager", rows);
    await vi.advanceTimersByTimeAsync(500);
    expect((await listing).map(({ id }) => id)).toEqual(["fast", "denies"]);
    await vi.advanceTimersByTimeAsync(500);
    expect(warnings).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });
});
