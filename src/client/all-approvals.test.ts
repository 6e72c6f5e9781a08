import { expect, test } from "vitest";
import { AllApprovals } from "./all-approvals.ts";

const row = (approvalId: string, state: string) => ({
  ...{ approvalId, state, toolCallId: `call-${approvalId}`, toolName: "pay", input: {}, chat: "chat-1" },
});

/** All approvals of a person, at a server that has these rows. */
function open(rows: ReturnType<typeof row>[]) {
  const approvals = new AllApprovals({
    storage: undefined,
    async fetch(path, { method }) {
      if (method === "POST") {
        rows.splice(0);
        return Response.json({});
      }
      const state = new URL(path, "http://server").searchParams.get("state");
      return Response.json({ approvals: rows.filter((each) => each.state === state) });
    },
  });
  const shown = () => approvals.list().map(({ approvalId, state }) => `${approvalId} ${state}`);
  return { approvals, shown };
}

test("a call whose outcome was unknown is not shown as unknown when a person has said what happened", async () => {
  const rows = [row("a1", "indeterminate"), row("a2", "pending")];
  const { approvals, shown } = open(rows);
  await approvals.refresh();
  expect(shown()).toEqual(["a2 asked", "a1 unknown"]);
  await approvals.resolve("a1", { happened: true });
  expect(shown()).toEqual([]);
});

test("all pages of the list are read", async () => {
  const approvals = new AllApprovals({
    storage: undefined,
    async fetch(path) {
      const { searchParams } = new URL(path, "http://server");
      if (searchParams.get("state") !== "pending") return Response.json({ approvals: [] });
      const page = Number(searchParams.get("cursor") ?? 1);
      return Response.json({ approvals: [row(`a${page}`, "pending")], ...(page < 3 && { cursor: String(page + 1) }) });
    },
  });
  await approvals.refresh();
  expect(approvals.list().map(({ approvalId }) => approvalId)).toEqual(["a1", "a2", "a3"]);
});

test.each([-3_600_000, 0, 3_600_000])(
  "a countdown is right in a browser whose clock is wrong by %i ms",
  async (serverAhead) => {
    const now = Date.now();
    const waiting = row("a1", "pending");
    const expiresAt = now + serverAhead + 60_000;
    const approvals = new AllApprovals({
      storage: undefined,
      fetch: async () =>
        Response.json(
          { approvals: [{ ...waiting, expiresAt }] },
          { headers: { date: new Date(now + serverAhead).toUTCString() } },
        ),
    });
    await approvals.refresh();
    const left = (approvals.get("a1")?.expiresAt ?? 0) - now;
    expect(Math.abs(left - 60_000)).toBeLessThan(1500);
  },
);
