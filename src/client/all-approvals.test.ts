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
