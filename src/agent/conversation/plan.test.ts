import { createEvent, type Event } from "@google/adk";
import type { Part } from "@google/genai";
import { describe, expect, it } from "vitest";
import { approvalRow } from "../../../test/fixtures/approvals.ts";
import type { Approval } from "../../stores/index.ts";
import type { EventMetadata } from "../adk/event-metadata.ts";
import type { HistoryPlan } from "./history-plan.ts";
import { type Occasion, planHistory } from "./plan.ts";

const asked = (text = "pay"): Event => createEvent({ author: "user", content: { role: "user", parts: [{ text }] } });
const said = (...parts: Part[]): Event => createEvent({ author: "agent", content: { role: "model", parts } });
const call = (id: string): Part => ({ functionCall: { id, name: "pay", args: { amount: 5 } } });
const step = (...ids: string[]): Event => said(...ids.map(call));
const responded = (id: string, metadata: EventMetadata = {}): Event =>
  createEvent({
    author: "agent",
    content: { role: "user", parts: [{ functionResponse: { id, name: "pay", response: { early: true } } }] },
    customMetadata: { ...metadata },
  });
const kept = (...ids: string[]): Event => {
  const parts = ids.map((id) => ({ functionResponse: { id, name: "pay", response: { free: true } } }));
  return createEvent({ author: "agent", customMetadata: { kept: parts } });
};
/** The row of the call with this id. */
const row = (id: string, fields: Partial<Approval> = {}): Approval =>
  approvalRow({ id: `apr-${id}`, toolCallId: id, state: "succeeded", ...fields });

const live = (...awaited: string[]): Occasion => ({ kind: "live", awaited: new Set(awaited) });
const connect = (withMessage: boolean): Occasion => ({ kind: "connect", withMessage });
const message: Occasion = { kind: "message" };
const outcomes: Occasion = { kind: "outcomes" };

function plan(events: readonly Event[], rows: readonly Approval[], occasion: Occasion): string[] {
  return describePlan(planHistory({ session: "chat", events, rows }, occasion));
}

/** What a plan does, one word for each thing it does. */
function describePlan({ records, request, next }: HistoryPlan): string[] {
  const word = ({ status, ...response }: Record<string, unknown> = {}) =>
    typeof status === "string" ? status : Object.keys(response).join();
  return [
    ...records.flatMap(({ response, send, note, tells }) => [
      ...(response ? [`respond ${response.open.call.id}: ${word(response.response)}`] : []),
      ...(response?.unknown ?? []).map((id) => `unknown ${id}`),
      ...(send ? [`send ${send.functionResponse?.id}`] : []),
      ...(note ? [`note ${note.id}`] : []),
      ...tells.map((id) => `tell ${id}`),
    ]),
    ...(request?.parts ?? []).map(
      ({ functionResponse }) => `request ${functionResponse?.id}: ${word(functionResponse?.response)}`,
    ),
    ...(request?.tells ?? []).map((id) => `tell ${id}`),
    next,
  ];
}

describe("the table: an open call × the occasion", () => {
  const calls = {
    settled: { events: [asked(), step("c1")], rows: [row("c1")] },
    kept: { events: [asked(), step("c1"), kept("c1")], rows: [] },
    unsettled: { events: [asked(), step("c1")], rows: [row("c1", { state: "executing" })] },
    lost: { events: [asked(), step("c1")], rows: [] },
  };
  const talk = [asked("and now?"), said({ text: "Wait." })];
  type Name = keyof typeof calls;

  const table: [title: string, occasion: Occasion, after: Event[], cells: Record<Name, string[]>][] = [
    [
      "P1: before a message by request, every call gets a response",
      message,
      [],
      {
        settled: ["respond c1: paid", "tell apr-c1", "ask"],
        kept: ["respond c1: free", "ask"],
        unsettled: ["respond c1: executing", "unknown c1", "ask"],
        lost: ["respond c1: interrupted", "ask"],
      },
    ],
    [
      "P2, P3: outcomes by request are the next request, and the model waits for what is unsettled",
      outcomes,
      [],
      {
        settled: ["request c1: paid", "tell apr-c1", "ask"],
        kept: ["request c1: free", "ask"],
        unsettled: ["wait"],
        lost: ["request c1: interrupted", "ask"],
      },
    ],
    [
      "P5: outcomes by request, after the conversation has moved on, are responses with a note",
      outcomes,
      talk,
      {
        settled: ["respond c1: paid", "note late-apr-c1", "tell apr-c1", "ask"],
        kept: ["respond c1: free", "note late-c1", "ask"],
        unsettled: ["wait"],
        lost: ["respond c1: interrupted", "note behind-c1", "ask"],
      },
    ],
    [
      "P4: a live model gets the outcomes that it awaits",
      live("c1"),
      [],
      {
        settled: ["respond c1: paid", "send c1", "tell apr-c1", "ask"],
        kept: ["respond c1: free", "send c1", "ask"],
        unsettled: ["rest"],
        lost: ["rest"],
      },
    ],
    [
      "P4: a live model gets a note about what it does not await",
      live(),
      [],
      {
        settled: ["respond c1: paid", "note late-apr-c1", "tell apr-c1", "ask"],
        kept: ["respond c1: free", "note late-c1", "ask"],
        unsettled: ["rest"],
        lost: ["rest"],
      },
    ],
    [
      "P6: a live connection that begins with a message tells the outcomes in its history",
      connect(true),
      [],
      {
        settled: ["respond c1: paid", "note late-apr-c1", "tell apr-c1", "rest"],
        kept: ["respond c1: free", "note late-c1", "rest"],
        unsettled: ["rest"],
        lost: ["respond c1: interrupted", "rest"],
      },
    ],
    [
      "P6: a live connection that begins without a message only ends the lost calls",
      connect(false),
      [],
      { settled: ["rest"], kept: ["rest"], unsettled: ["rest"], lost: ["respond c1: interrupted", "rest"] },
    ],
    [
      "when the model is not asked, open calls stay as they are",
      { kind: "record" },
      [],
      { settled: ["rest"], kept: ["rest"], unsettled: ["rest"], lost: ["rest"] },
    ],
    [
      "a call that the live model cancelled gets a response that the model is not sent",
      { kind: "cancelled", calls: new Set(["c1"]) },
      [],
      { settled: ["respond c1: paid", "tell apr-c1", "rest"], kept: ["rest"], unsettled: ["rest"], lost: ["rest"] },
    ],
  ];
  const names: Name[] = ["settled", "kept", "unsettled", "lost"];
  describe.each(table)("%s", (_, occasion, after, cells) => {
    it.each(names)("%s", (name) => {
      const { events, rows } = calls[name];
      expect(plan([...events, ...after], rows, occasion)).toEqual(cells[name]);
    });
  });
});

describe("a message by request", () => {
  it("P1: responds to the calls of all steps in the order of the calls", () => {
    const events = [asked(), step("c1"), asked("go on"), step("c2", "c3")];
    expect(plan(events, [row("c3"), row("c1")], message)).toEqual([
      "respond c1: paid",
      "tell apr-c1",
      "respond c2: interrupted",
      "respond c3: paid",
      "tell apr-c3",
      "ask",
    ]);
  });

  it("P1: says of an agent's open call what is known of the calls it made, and tells the rest later", () => {
    const agent = row("c1", { state: "cancelled", innerSession: "inner" });
    const done = row("i1", { session: "inner" });
    const running = row("i2", { session: "inner", state: "executing" });
    const events = [asked(), step("c1")];
    const { records } = planHistory({ session: "chat", events, rows: [agent, done, running] }, message);
    expect(records).toMatchObject([
      {
        response: {
          response: {
            status: "cancelled",
            calls: [
              { name: "pay", args: { amount: 5 }, state: "succeeded", response: { paid: 5 } },
              { name: "pay", args: { amount: 5 }, state: "executing" },
            ],
          },
          unknown: ["i2"],
        },
        tells: ["apr-c1", "apr-i1"],
      },
    ]);
  });

  it("carries the state that the tool changed", () => {
    const rows = [row("c1", { stateDelta: { balance: 3 } })];
    const { records } = planHistory({ session: "chat", events: [asked(), step("c1")], rows }, message);
    expect(records[0]?.response?.stateDelta).toEqual({ balance: 3 });
  });
});

describe("outcomes by request", () => {
  it("P2: bring the whole step in the order of its calls, with the author of the step and all changed state", () => {
    const events = [asked(), step("c1", "c2", "c3"), kept("c2")];
    const rows = [row("c3", { stateDelta: { b: 2 } }), row("c1", { stateDelta: { a: 1 } })];
    const { request } = planHistory({ session: "chat", events, rows }, outcomes);
    expect(request?.parts.map(({ functionResponse }) => functionResponse?.id)).toEqual(["c1", "c2", "c3"]);
    expect(request).toMatchObject({ author: "agent", stateDelta: { a: 1, b: 2 }, tells: ["apr-c1", "apr-c3"] });
  });

  it("P2: name the calls of an agent whose outcome must be told later", () => {
    const rows = [
      row("c1", { state: "cancelled", innerSession: "inner" }),
      row("i1", { session: "inner", state: "executing" }),
    ];
    const { request } = planHistory({ session: "chat", events: [asked(), step("c1")], rows }, outcomes);
    expect(request?.unknown).toEqual(["i1"]);
  });

  it("P3: wait for every call of the step", () => {
    const rows = [row("c1"), row("c2", { state: "pending" })];
    expect(plan([asked(), step("c1", "c2"), kept()], rows, outcomes)).toEqual(["wait"]);
  });

  it("have nothing to say when no call is open", () => {
    expect(plan([asked(), step("c1"), responded("c1")], [row("c1", { told: true })], outcomes)).toEqual(["rest"]);
  });

  it("P5: get a note when calls of an older step are open too", () => {
    const events = [asked(), step("c1"), step("c2")];
    expect(plan(events, [row("c1"), row("c2")], outcomes)).toEqual([
      "respond c1: paid",
      "note late-apr-c1",
      "tell apr-c1",
      "respond c2: paid",
      "note late-apr-c2",
      "tell apr-c2",
      "ask",
    ]);
  });

  it("P5: get a note when an outcome of an earlier step is told with them", () => {
    const events = [asked(), step("c1"), responded("c1", { unknown: ["c1"] }), asked("go on"), step("c2")];
    expect(plan(events, [row("c1"), row("c2")], outcomes)).toEqual([
      "note late-apr-c1",
      "tell apr-c1",
      "respond c2: paid",
      "note late-apr-c2",
      "tell apr-c2",
      "ask",
    ]);
  });

  it.each([
    ["a later step that is complete", [step("c2"), responded("c2")]],
    ["a picture from the user", [createEvent({ author: "user", content: { role: "user", parts: [picture()] } })]],
  ])("P5: get a note after %s, which ADK would drop", (_, after) => {
    expect(plan([asked(), step("c1"), ...after], [row("c1")], outcomes)).toEqual([
      "respond c1: paid",
      "note late-apr-c1",
      "tell apr-c1",
      "ask",
    ]);
  });

  it("P5: get a note after the response to an older call, which ADK would drop", () => {
    const events = [asked(), step("c1"), step("c2"), responded("c1")];
    expect(plan(events, [row("c2")], outcomes)).toEqual(["respond c2: paid", "note late-apr-c2", "tell apr-c2", "ask"]);
  });

  it("are still one request after responses to other calls of the same step", () => {
    const events = [asked(), step("c1", "c2"), responded("c1")];
    expect(plan(events, [row("c2")], outcomes)).toEqual(["request c2: paid", "tell apr-c2", "ask"]);
  });
});

describe("outcomes for a live model", () => {
  it("make it speak after the last response of a step", () => {
    const events = [asked(), step("c1", "c2")];
    const rows = [row("c1"), row("c2", { state: "pending" })];
    expect(plan(events, rows, live("c1", "c2")).at(-1)).toBe("rest");
    expect(plan(events, [row("c1"), row("c2")], live("c1", "c2")).at(-1)).toBe("ask");
  });

  it("make it speak when what it awaits belongs to another step", () => {
    const events = [asked(), step("c1"), step("c2")];
    expect(plan(events, [row("c1"), row("c2", { state: "pending" })], live("c1", "c2")).at(-1)).toBe("ask");
  });

  it("say in a note what an agent that failed had done until then", () => {
    const rows = [row("c1", { state: "failed", innerSession: "inner" }), row("i1", { session: "inner" })];
    const { records } = planHistory({ session: "chat", events: [asked(), step("c1")], rows }, live());
    expect(records[0]?.note?.text).toContain('"calls":[{"name":"pay","args":{"amount":5},"state":"succeeded"');
    expect(records[0]?.tells).toEqual(["apr-c1", "apr-i1"]);
  });

  it("are not sent again after they were sent", () => {
    const events = [asked(), step("c1"), responded("c1")];
    expect(plan(events, [row("c1", { told: true })], live("c1"))).toEqual(["rest"]);
  });
});

describe("P7: an outcome that comes after its response", () => {
  const answered = [asked(), step("c1"), responded("c1")];
  const unknown = [asked(), step("c1"), responded("c1", { unknown: ["c1"] })];
  const occasions: [string, Occasion][] = [
    ["a message", message],
    ["outcomes by request", outcomes],
    ["a record", { kind: "record" }],
    ["outcomes live", live()],
    ["a connection that begins with a message", connect(true)],
  ];

  it.each(occasions)("is a note if the response said that it was not known yet: %s", (_, occasion) => {
    expect(plan(unknown, [row("c1")], occasion).slice(0, -1)).toEqual(["note late-apr-c1", "tell apr-c1"]);
  });

  it.each(occasions)("is only marked if the history has it: %s", (_, occasion) => {
    expect(plan(answered, [row("c1")], occasion).slice(0, -1)).toEqual(["tell apr-c1"]);
  });

  it.each(occasions)("is not told while it is not known, nor twice: %s", (_, occasion) => {
    expect(plan(unknown, [row("c1", { state: "executing" })], occasion)).toHaveLength(1);
    expect(plan(unknown, [row("c1", { told: true })], occasion)).toHaveLength(1);
  });

  it("waits for a connection that begins with a message", () => {
    expect(plan([...unknown, asked("go on")], [row("c1")], connect(false))).toEqual(["rest"]);
  });

  it("is told about the call of an agent, when the agent's own call has its response", () => {
    const rows = [row("c1", { told: true, innerSession: "inner" }), row("i1", { session: "inner" })];
    expect(plan([asked(), step("c1"), responded("c1", { unknown: ["i1"] })], rows, message)).toEqual([
      "note late-apr-i1",
      "tell apr-i1",
      "ask",
    ]);
    expect(plan(answered, rows, message)).toEqual(["tell apr-i1", "ask"]);
    expect(plan([asked(), step("c1")], [row("c1", { state: "approved" }), ...rows.slice(1)], outcomes)).toEqual([
      "wait",
    ]);
  });

  it("belongs to the session of its call", () => {
    const rows = [row("c1", { innerSession: "inner", state: "approved" }), row("i1", { session: "inner" })];
    const inner = planHistory({ session: "inner", events: [asked(), step("i1")], rows }, outcomes);
    expect(describePlan(inner)).toEqual(["request i1: paid", "tell apr-i1", "ask"]);
    const sameId = [row("i1", { session: "inner", state: "pending" }), row("i1")];
    expect(plan([asked(), step("i1")], sameId, outcomes)).toEqual(["request i1: paid", "tell apr-i1", "ask"]);
    const elsewhere = [...rows, row("c9")];
    expect(describePlan(planHistory({ session: "inner", events: [asked()], rows: elsewhere }, message))).toEqual([
      "ask",
    ]);
  });
});

describe("P8: a history that ends with the response to an older call", () => {
  const older = [asked(), step("c1"), asked("and now?"), responded("c1")];

  it("gets a note before a live connection opens", () => {
    const rows = [row("c1", { told: true })];
    expect(plan(older, rows, connect(false))).toEqual(["note behind-c1", "rest"]);
    const { records } = planHistory({ session: "chat", events: older, rows }, connect(true));
    expect(records[0]?.note?.text).toContain('The earlier call pay({"amount":5}) ended as succeeded: {"early":true}');
  });

  it("gets a note about a lost call that does not call it a success", () => {
    const events = [asked(), step("c1"), asked("and now?")];
    const { records } = planHistory({ session: "chat", events, rows: [] }, connect(false));
    expect(records.at(-1)?.note?.text).toContain("ended as interrupted: ");
  });

  it("needs no note if the call is the last one, or if a note follows anyway", () => {
    expect(plan([asked(), step("c1"), responded("c1")], [row("c1", { told: true })], connect(false))).toEqual(["rest"]);
    expect(plan([...older, asked("go on")], [row("c1", { told: true })], connect(false))).toEqual(["rest"]);
    expect(plan([asked(), step("c1"), asked("and now?")], [row("c1")], connect(true))).toEqual([
      "respond c1: paid",
      "note late-apr-c1",
      "tell apr-c1",
      "rest",
    ]);
  });

  it("gets a note if the response follows the responses of other steps", () => {
    expect(plan([asked(), step("c1"), step("c2")], [], connect(false))).toEqual([
      "respond c1: interrupted",
      "respond c2: interrupted",
      "note behind-c2",
      "rest",
    ]);
  });

  it("gets a note that does not repeat what an earlier note has told", () => {
    const noted = createEvent({
      ...{ author: "user", content: { role: "user", parts: [{ text: "[context]" }] } },
      customMetadata: { about: "adk-2" },
    });
    const events = [asked(), step("adk-1", "adk-2"), noted];
    const rows = [row("adk-1"), row("adk-2", { told: true })];
    expect(plan(events, rows, outcomes)).toEqual([
      "respond adk-1: paid",
      "note late-apr-adk-1",
      "tell apr-adk-1",
      "respond adk-2: paid",
      "note behind-adk-2",
      "ask",
    ]);
    const { records } = planHistory({ session: "chat", events, rows }, outcomes);
    expect(records.map(({ note }) => note?.text)).toEqual([
      expect.stringContaining('The earlier call pay({"amount":5}) ended as succeeded: '),
      undefined,
      '[context, not from the user] The result of the earlier call pay({"amount":5}) was told before.',
    ]);
  });

  it("is left alone if the call is not in it", () => {
    expect(plan([asked(), responded("c9")], [], connect(false))).toEqual(["rest"]);
  });
});

describe("P9: a step with ids that ADK removes from requests", () => {
  const events = [asked(), step("adk-1", "adk-2")];
  const waits = row("adk-2", { state: "pending" });

  it("gets no response before all its calls are settled, but the model is told", () => {
    expect(plan(events, [row("adk-1"), waits], live("adk-1", "adk-2"))).toEqual([
      "send adk-1",
      "tell apr-adk-1",
      "rest",
    ]);
    expect(plan(events, [row("adk-1"), waits], live())).toEqual(["note late-apr-adk-1", "tell apr-adk-1", "ask"]);
    expect(plan([...events, kept("adk-1")], [waits], live())).toEqual(["rest"]);
    expect(plan(events, [waits], connect(true))).toEqual(["rest"]);
  });

  it("then gets all responses at once, without telling again", () => {
    expect(plan(events, [row("adk-1", { told: true }), row("adk-2")], live("adk-2"))).toEqual([
      "respond adk-1: paid",
      "respond adk-2: paid",
      "send adk-2",
      "tell apr-adk-2",
      "ask",
    ]);
  });

  it("is told once while it waits", () => {
    const rows = [row("adk-1", { told: true }), waits];
    expect(planHistory({ session: "chat", events, rows }, live())).toEqual({ records: [], next: "rest" });
  });

  it("counts as such if ADK removes only one of its ids", () => {
    expect(plan([asked(), step("adk-1", "c2")], [row("c2"), row("adk-1", { state: "pending" })], live())).toEqual([
      "note late-apr-c2",
      "tell apr-c2",
      "ask",
    ]);
  });

  it("does not hold back a step that keeps its ids", () => {
    const both = [asked(), step("c1", "c2")];
    expect(plan(both, [row("c1"), row("c2", { state: "pending" })], live("c1", "c2"))).toEqual([
      "respond c1: paid",
      "send c1",
      "tell apr-c1",
      "rest",
    ]);
  });
});

describe("P11: tools that asked for more than a response", () => {
  const transfer = { transferToAgent: "helper" };

  it("the step is recorded in place with what each tool asked, and goes on as they say", () => {
    const events = [asked(), step("c1", "c2"), kept("c2")];
    const rows = [row("c1", { actions: transfer })];
    expect(plan(events, rows, outcomes)).toEqual(["respond c1: paid", "tell apr-c1", "respond c2: free", "ask"]);
    const { records, resume } = planHistory({ session: "chat", events, rows }, outcomes);
    expect(resume).toEqual({ author: "agent", actions: transfer });
    expect(records.map(({ response }) => response?.actions)).toEqual([transfer, undefined]);
  });

  it("what was set aside with the results of the step counts too", () => {
    const aside = createEvent({ author: "agent", customMetadata: { kept: [], transfer: "helper" } });
    const { resume } = planHistory(
      { session: "chat", events: [asked(), step("c1"), aside], rows: [row("c1")] },
      outcomes,
    );
    expect(resume).toEqual({ author: "agent", actions: transfer });
  });

  it("the step waits for every call first", () => {
    const rows = [row("c1", { actions: transfer }), row("c2", { state: "pending" })];
    expect(plan([asked(), step("c1", "c2")], rows, outcomes)).toEqual(["wait"]);
  });

  it.each([["a message", message] as const, ["a live model", live("c1")] as const])(
    "the response for %s has the actions",
    (_, occasion) => {
      const rows = [row("c1", { actions: { artifactDelta: { a: 1 }, unknownField: 5 } })];
      const { records } = planHistory({ session: "chat", events: [asked(), step("c1")], rows }, occasion);
      expect(records[0]?.response?.actions).toEqual({ artifactDelta: { a: 1 } });
    },
  );
});

function picture(): Part {
  return { inlineData: { mimeType: "image/png", data: "AAAA" } };
}

it("P13: outcomes of an agent that does not exist any more are recorded in place and noted", () => {
  const rows = [row("c1", { session: "chat", state: "denied" })];
  const events = [asked(), step("c1")];
  const made = planHistory({ session: "chat", events, rows }, { kind: "outcomes", isGone: () => true });
  expect(made.request).toBeUndefined();
  expect(made.next).toBe("ask");
  expect(made.records).toMatchObject([
    { response: { open: { call: { id: "c1" } } }, note: { about: "c1" }, tells: ["apr-c1"] },
  ]);
});
