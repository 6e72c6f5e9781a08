import { describe, expect, it } from "vitest";
import { approvalRow } from "../../../test/fixtures/approvals.ts";
import { approvalStates } from "../../protocol/index.ts";
import { UnreadJson } from "../../protocol/unread-json.ts";
import { matchesDecision, resolveAnswers, toOutcome, withReadResults } from "./answers.ts";

const yes = () => Promise.resolve(true);
const no = () => Promise.resolve(false);
const unread = (json: string) => new UnreadJson(new TextEncoder().encode(json), { maxDepth: 64 }, { bytes: 1000 });

describe("a row matches a decision", () => {
  it.each(approvalStates)("if it went that way: %s", (state) => {
    const isYes = ["approved", "executing", "waiting", "succeeded", "failed", "indeterminate"].includes(state);
    const row = approvalRow({ state });
    expect(matchesDecision(row, true)).toBe(isYes);
    expect(matchesDecision(row, false)).toBe(state === "denied");
  });

  it("but not if it expired or was cancelled after a yes", () => {
    expect(matchesDecision(approvalRow({ state: "expired", decidedAt: 5 }), true)).toBe(false);
    expect(matchesDecision(approvalRow({ state: "cancelled", decidedAt: 5 }), false)).toBe(false);
  });

  it("and a call that no person is asked about matches a yes", () => {
    const row = approvalRow({ gated: false, external: true, state: "approved", decidedAt: undefined });
    expect(matchesDecision(row, true)).toBe(true);
    expect(matchesDecision(row, false)).toBe(false);
  });
});

describe("a browser tool's result", () => {
  it.each([
    [{ output: { place: "here" } }, { event: "succeed", outcome: { place: "here" } }],
    [{ output: "here" }, { event: "succeed", outcome: { result: "here" } }],
    [{ output: ["here"] }, { event: "succeed", outcome: { result: ["here"] } }],
    [{ output: undefined }, { event: "succeed", outcome: { result: null } }],
    [{ output: null }, { event: "succeed", outcome: { result: null } }],
    [{ errorText: "denied by the browser" }, { event: "fail", outcome: { error: "denied by the browser" } }],
  ])("%j", (result, outcome) => {
    expect(toOutcome(result)).toEqual(outcome);
  });

  it("that breaks a limit is a failure that says why, so that the call does not wait for ever", () => {
    expect(toOutcome({ unread: unread('{"place":"here"}') })).toEqual({ event: "succeed", outcome: { place: "here" } });
    expect(toOutcome({ unread: unread('{"x":{"__proto__":1}}') })).toEqual({
      event: "fail",
      outcome: {
        error:
          "The tool ran in the browser, but its output was not accepted. The value at $.x.__proto__ is under a key that is not allowed.",
      },
    });
  });
});

describe("the answers of one request", () => {
  const row = approvalRow();
  const local = approvalRow({ id: "apr_2", toolCallId: "call-2", gated: false, external: true, state: "approved" });

  it("find their rows by the approval's id or the call's", async () => {
    const given = await resolveAnswers(
      [
        { id: "apr_1", approved: true },
        { id: "call-2", result: { output: 1 } },
      ],
      [row, local],
      yes,
    );
    expect(given).toEqual([
      { approval: row, answer: { id: "apr_1", approved: true }, shown: false },
      { approval: local, answer: { id: "apr_2", result: { output: 1 } }, shown: true },
    ]);
  });

  it("are joined when they are about the same row", async () => {
    const answers = [
      { id: "apr_1", approved: true, reason: "fine" },
      { id: "call-1", result: { output: 1 } },
    ];
    expect(await resolveAnswers(answers, [row], yes)).toEqual([
      { approval: row, answer: { id: "apr_1", approved: true, reason: "fine", result: { output: 1 } }, shown: true },
    ]);
  });

  it("refuse a decision about an unknown row, and pass over an unknown result", async () => {
    await expect(resolveAnswers([{ id: "apr_9", approved: true }], [row], yes)).rejects.toMatchObject({
      code: "not_found",
    });
    expect(await resolveAnswers([{ id: "call-9", result: { output: 1 } }], [row], yes)).toEqual([]);
  });

  it("refuse an answer that decides nothing, and one that goes both ways", async () => {
    await expect(resolveAnswers([{ id: "apr_1" }], [row], yes)).rejects.toThrow("this one decides nothing");
    const both = [
      { id: "apr_1", approved: true },
      { id: "call-1", approved: false },
    ];
    await expect(resolveAnswers(both, [row], yes)).rejects.toThrow("answered both ways");
  });

  it("refuse the result of a call that runs on the server, unless the call is settled", async () => {
    const answers = [{ id: "call-1", approved: true, result: { output: 1 } }];
    await expect(resolveAnswers(answers, [row], no)).rejects.toMatchObject({ code: "conflict" });
    const settled = approvalRow({ state: "succeeded" });
    expect(await resolveAnswers(answers, [settled], no)).toMatchObject([{ approval: settled, shown: true }]);
  });

  it("refuse a result that comes before a yes", async () => {
    const answers = [{ id: "call-1", result: { output: 1 } }];
    await expect(resolveAnswers(answers, [row], yes)).rejects.toThrow("came without a yes");
  });

  it("are read only if a call waits for them, and before anything is decided", async () => {
    const waiting = approvalRow({ id: "apr_2", toolCallId: "call-2", gated: false, external: true, state: "waiting" });
    const done = approvalRow({ id: "apr_3", toolCallId: "call-3", state: "succeeded" });
    const broken = { unread: unread("[1,]") };
    await expect(resolveAnswers([{ id: "call-2", result: broken }], [waiting], yes)).rejects.toThrow("not valid JSON");
    expect(await resolveAnswers([{ id: "call-3", result: broken }], [done], yes)).toMatchObject([{ shown: true }]);
    expect(await resolveAnswers([{ id: "free", result: broken }], [waiting, done], yes)).toEqual([]);
    expect(await resolveAnswers([{ id: "call-2", result: { unread: unread("5") } }], [waiting], yes)).toMatchObject([
      { answer: { result: { output: 5 } } },
    ]);
  });
});

describe("answers for another node", () => {
  it("have the results of open calls as values, and of other calls only that there is one", () => {
    const rows = [
      approvalRow({ id: "a", toolCallId: "a", state: "waiting" }),
      approvalRow({ id: "b", state: "succeeded" }),
    ];
    const answers = ["a", "b", "free"].map((id) => ({ id, result: { unread: unread('{"place":"here"}') } }));
    expect(withReadResults([...answers, { id: "c", approved: true }], rows)).toEqual([
      { id: "a", result: { output: { place: "here" } } },
      { id: "b", result: { output: null } },
      { id: "free" },
      { id: "c", approved: true },
    ]);
  });

  it("have the result of a call that is recorded only when they arrive, or nothing instead of a wrong one", async () => {
    const ids = ["a", "b"];
    const results = [{ output: { place: "here" } }, { unread: unread('{"place":"here"}') }];
    const sent = withReadResults(
      ids.map((id, index) => ({ id, result: results[index]! })),
      [],
    );
    const rows = ids.map((id) => approvalRow({ id, toolCallId: id, gated: false, external: true, state: "waiting" }));
    expect((await resolveAnswers(sent, rows, yes)).map(({ answer }) => answer.result)).toEqual([results[0], undefined]);
  });

  it("say why a result was not accepted", () => {
    const rows = [approvalRow({ id: "a", toolCallId: "a", state: "waiting" })];
    const [answer] = withReadResults([{ id: "a", result: { unread: unread(`"${"x".repeat(2000)}"`) } }], rows);
    expect(answer?.result).toMatchObject({ errorText: expect.stringContaining("was not accepted") });
  });
});
