import { expect, it } from "vitest";
import { approvalRow } from "../../../test/fixtures/approvals.ts";
import type { Approval, Session, Store } from "../../stores/index.ts";
import { Authorizer, type Authorize } from "../approval/authorizer.ts";
import { silentLogger } from "../support/index.ts";
import type { Answer } from "./answers.ts";
import { permittedAnswers } from "./permitted-answers.ts";

const chat = { id: "chat", owner: "alice" } as Session;
const alice = { owner: "alice", actor: "alice" };

/** Which of these rows exist for a request of Alice. `later` are held while the hook is asked. */
async function permitted(answers: Answer[], rows: Approval[], authorize?: Authorize, later: Approval[] = []) {
  const store = { listApprovals: async () => rows.filter(({ state }) => state === "pending") } as unknown as Store;
  const authorizer = new Authorizer({ authorize, logger: silentLogger });
  const exists = await permittedAnswers(answers, alice, chat, { store, authorizer });
  return [...rows, ...later].filter(exists).map(({ id }) => id);
}

const row = (id: string, state: Approval["state"] = "pending") => approvalRow({ id, toolCallId: `call-${id}`, state });

it("hides what the actor may not decide, by either id, and nothing else", async () => {
  const asked: string[] = [];
  const refuse: Authorize = (actor, { id }) => {
    asked.push(`${actor} ${id}`);
    return id === "b";
  };
  const rows = [row("a"), row("b"), row("c"), row("d"), row("e", "denied")];
  const answers = [
    { id: "a", approved: true },
    { id: "call-b", approved: true },
    { id: "call-c", approved: false },
    { id: "e", approved: true },
    { id: "call-d", result: { output: 1 } },
  ];
  expect(await permitted(answers, rows, refuse)).toEqual(["b", "d", "e"]);
  expect(asked).toEqual(["alice a", "alice b", "alice c"]);
});

it("a call that is held while the hook is asked cannot be decided by this request", async () => {
  const answers = [
    { id: "a", approved: true },
    { id: "call-b", approved: true },
  ];
  expect(await permitted(answers, [row("a")], () => true, [row("b"), row("c")])).toEqual(["a", "c"]);
});

it("asks nothing without a hook, and nothing about results", async () => {
  expect(await permitted([{ id: "a", approved: true }], [row("a")])).toEqual(["a"]);
  const never: Authorize = () => {
    throw new Error("asked");
  };
  expect(await permitted([{ id: "call-a", result: { output: 1 } }], [row("a")], never)).toEqual(["a"]);
});
