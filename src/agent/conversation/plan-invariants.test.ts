import { createEvent, type Event, Gemini, LlmAgent, LogLevel, setLogLevel } from "@google/adk";
import type { Content, Part } from "@google/genai";
import { pairingErrors } from "adk-stream-protocol/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { approvalRow } from "../../../test/fixtures/approvals.ts";
import { type ApprovalState, approvalStates, isSettled } from "../../protocol/index.ts";
import type { Approval } from "../../stores/index.ts";
import { memoryStore } from "../../stores/memory.ts";
import { GatePlugin } from "../adk/gate-plugin.ts";
import {
  callsWithResponse,
  callsOf,
  keepsId,
  keptResults,
  openCalls,
  responsesOf,
  unknownCalls,
} from "../adk/history.ts";
import { noteEvent, responseEvent } from "../adk/new-events.ts";
import { emptyContent, runRequests } from "../adk/request-run.ts";
import { Runners } from "../adk/runners.ts";
import { StoreSessionService } from "../adk/session-service.ts";
import { Toolsets } from "../adk/toolsets.ts";
import { callInSession, familyOf } from "../approval/family.ts";
import { isOpen as modelWaitsFor } from "../approval/outcome.ts";
import { holdCalls } from "../approval/hold-calls.ts";
import { Policies } from "../approval/policies.ts";
import { silentLogger } from "../support/index.ts";
import { applyPlan, groupRecords } from "./apply-plan.ts";
import type { HistoryPlan } from "./history-plan.ts";
import { type Occasion, planHistory } from "./plan.ts";

setLogLevel(LogLevel.ERROR);

/**
 * What the plan must keep to in every history and with every ledger: random histories, random rows, and random walks over
 * occasions with rows that are settled in between.
 */

// --- Random histories -------------------------------------------------------------------------------------------------

/** What is known about a call: its row, an agent's row, a result set aside, nothing, or a response it already has. */
const fate = fc.constantFrom("row", "agent", "kept", "lost", "responded", "unknown");
const state = fc.constantFrom(...approvalStates);
const mode = fc.constantFrom<Approval["mode"]>("request", "live");
const inner = fc.record({ state, told: fc.boolean(), isAgent: fc.boolean() });
const callSpec = fc.record({ fate, state, mode, told: fc.boolean(), inner: fc.array(inner, { maxLength: 2 }) });
const step = fc.record({
  kind: fc.constant("step" as const),
  ids: fc.constantFrom("adk", "own", "mixed"),
  isOpen: fc.boolean(),
  calls: fc.array(callSpec, { minLength: 1, maxLength: 3 }),
});
const talk = fc.record({ kind: fc.constantFrom("user", "model", "picture") });
const items = fc.array(fc.oneof(talk, step), { maxLength: 6 });
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
type Item = typeof items extends fc.Arbitrary<(infer T)[]> ? T : never;
type Call = Step["calls"][number];

/** A chat: its history and its ledger. */
class Chat {
  readonly events: Event[] = [];
  readonly rows: Approval[] = [];
  #count = 0;

  constructor(history: readonly Item[] = []) {
    this.talk("user");
    for (const item of history) {
      if (item.kind === "step") this.step(item);
      else this.talk(item.kind);
    }
  }

  talk(kind: "user" | "model" | "picture"): void {
    this.#count += 1;
    const data = `word-${this.#count}`;
    const parts: Part[] = [kind === "picture" ? { inlineData: { mimeType: "image/png", data } } : { text: data }];
    const isModel = kind === "model";
    this.events.push(
      createEvent({ author: isModel ? "agent" : "user", content: { role: isModel ? "model" : "user", parts } }),
    );
  }

  /** The model makes calls. Only a step that keeps all its ids can have responses to some of them (P9). */
  step({ ids, isOpen, calls }: Step): void {
    const named = calls.map((spec, index) => {
      this.#count += 1;
      const isAdk = ids === "adk" || (ids === "mixed" && index === 1);
      return { spec, id: `${isAdk ? "adk-" : "c"}${this.#count}`, name: `tool_${this.#count}` };
    });
    const keepsAll = named.every(({ id }) => keepsId({ id, name: "" }));
    const made = createEvent({
      author: "agent",
      content: { role: "model", parts: named.map(({ id, name }) => ({ functionCall: { id, name, args: {} } })) },
    });
    this.events.push(made);
    const kept: Part[] = [];
    const responses: Part[] = [];
    const unknown: string[] = [];
    for (const { spec, id, name } of named) {
      const result = { functionResponse: { id, name, response: { of: id } } };
      const isAnswered = !isOpen || (keepsAll && (spec.fate === "responded" || spec.fate === "unknown"));
      if (isAnswered) {
        responses.push(result);
        unknown.push(...this.#addAnsweredRow(id, name, spec));
      } else if (spec.fate === "kept" || spec.fate === "responded") kept.push(result);
      else if (spec.fate !== "lost") this.#addRows(id, name, spec, { told: spec.told && !keepsAll });
    }
    if (kept.length > 0) this.events.push(createEvent({ author: "agent", customMetadata: { kept } }));
    if (responses.length > 0)
      this.events.push(
        createEvent({
          author: "agent",
          content: { role: "user", parts: responses },
          ...(unknown.length > 0 && { customMetadata: { unknown } }),
        }),
      );
  }

  /** The row of a call that has a response. Returns the calls whose outcome that response could not tell. */
  #addAnsweredRow(id: string, name: string, spec: Call): string[] {
    if (spec.fate === "row") {
      const settled = isSettled(spec.state) ? spec.state : "succeeded";
      this.#addRows(id, name, { ...spec, state: settled, inner: [] }, { told: spec.told });
    }
    if (spec.fate !== "agent" && spec.fate !== "unknown") return [];
    const family = this.#addRows(id, name, spec, { told: spec.told });
    return family.filter((row) => !row.told || row.state === "indeterminate").map(({ toolCallId }) => toolCallId);
  }

  /** Adds the row of a call and, for an agent, the rows of its own calls. */
  #addRows(id: string, name: string, spec: Call, { told }: { told: boolean }): Approval[] {
    const fields = { session: "chat", mode: spec.mode, toolName: name, toolCallId: id };
    if (spec.fate !== "agent") return [this.#addRow({ ...fields, state: spec.state, told })];
    const agent = this.#addRow({ ...fields, state: spec.state, told, external: true, innerSession: `in-${id}` });
    const inside = spec.inner.flatMap((each, index) => {
      const innerState = possibleInside(agent.state, each.state);
      if (innerState === undefined) return [];
      const innerId = `${id}.${index}`;
      const innerFields = { session: `in-${id}`, mode: spec.mode, toolName: `${name}_${index}`, toolCallId: innerId };
      const row = this.#addRow({
        ...innerFields,
        ...{ state: innerState, told: each.told },
        ...(each.isAgent && { external: true, innerSession: `in-${innerId}` }),
      });
      const deepState = each.isAgent ? possibleInside(innerState, "executing") : undefined;
      if (deepState === undefined) return [row];
      const deep = {
        session: `in-${innerId}`,
        mode: spec.mode,
        toolName: `${name}_${index}_0`,
        toolCallId: `${innerId}.0`,
      };
      return [row, this.#addRow({ ...deep, state: deepState })];
    });
    return [agent, ...inside];
  }

  #addRow(fields: Partial<Approval> & Pick<Approval, "toolCallId" | "state">): Approval {
    const told = Boolean(fields.told) && isSettled(fields.state);
    // Some tools say something when they have begun.
    const interim = fields.state === "waiting" && /[02468]$/.test(fields.toolCallId) ? { job: 1 } : undefined;
    const row = approvalRow({ ...fields, id: `apr-${fields.toolCallId}`, told, ...(interim && { interim }) });
    this.rows.push(row);
    return row;
  }

  plan(occasion: Occasion): HistoryPlan {
    return planHistory({ session: "chat", events: this.events, rows: this.rows }, occasion);
  }

  /** Does what `applyPlan` and `markTold` do, without a store. */
  apply({ records }: HistoryPlan): void {
    for (const group of groupRecords(records)) {
      const [first, ...others] = group.flatMap(({ response }) => response ?? []);
      if (first) this.events.push(responseEvent(first, ...others));
      for (const { note, tells } of group) {
        if (note) this.events.push(noteEvent(note.id, note.text));
        this.tell(tells);
      }
    }
  }

  /** The next request, stored as ADK stores it. */
  request({ request }: HistoryPlan): void {
    if (!request) return;
    const { parts, unknown, tells } = request;
    this.events.push(
      createEvent({ author: "user", content: { role: "user", parts }, customMetadata: { unknown: [...unknown] } }),
    );
    this.tell(tells);
  }

  tell(ids: readonly string[]): void {
    for (const [index, row] of this.rows.entries())
      if (ids.includes(row.id)) this.rows[index] = { ...row, told: row.told || isSettled(row.state) };
  }

  /** Settles an unsettled row. An agent that ends early takes with it what has not started. */
  settle(which: number, to: ApprovalState): void {
    const waiting = this.rows.filter((row) => !isSettled(row.state));
    const chosen = waiting[which % Math.max(1, waiting.length)];
    if (!chosen || !isSettled(to)) return;
    const family = new Set(familyOf(chosen, this.rows).map(({ id }) => id));
    // An agent that has made calls was approved and does not expire.
    const end = family.size > 1 && (to === "denied" || to === "expired") ? "cancelled" : to;
    for (const [index, row] of this.rows.entries()) {
      if (!family.has(row.id)) continue;
      const next = row.id === chosen.id ? end : (possibleInside(end, row.state) ?? row.state);
      if (next !== row.state) this.rows[index] = approvalRow({ ...row, state: next, told: false });
    }
  }

  /** A person finds out what became of a call. */
  resolve(which: number): void {
    const unclear = this.rows.filter((row) => row.state === "indeterminate");
    const chosen = unclear[which % Math.max(1, unclear.length)];
    if (chosen) this.rows[this.rows.indexOf(chosen)] = { ...chosen, state: "succeeded", resolvedBy: "me", told: false };
  }

  settleAll(): void {
    while (this.rows.some((row) => !isSettled(row.state))) this.settle(0, "succeeded");
  }

  get open(): string[] {
    return openCalls(this.events).map(({ call: { id } }) => id);
  }
}

/** The state that a call of an agent can have while the agent's own row is in this state; undefined if it made none. */
function possibleInside(agent: ApprovalState, wanted: ApprovalState): ApprovalState | undefined {
  if (agent === "pending" || agent === "denied" || agent === "expired") return undefined;
  if (agent === "approved" || agent === "executing" || isSettled(wanted)) return wanted;
  if (agent === "succeeded") return "succeeded";
  return wanted === "executing" ? "executing" : "cancelled";
}

/** The text or picture of every event with one, to see whether a request still has it. */
const wordsIn = (contents: readonly (Content | undefined)[]): string[] =>
  contents.flatMap((content) =>
    (content?.parts ?? []).flatMap(({ text, inlineData }) => text || inlineData?.data || []),
  );
const callCount = (contents: readonly (Content | undefined)[]): number =>
  contents.flatMap((content) => content?.parts ?? []).filter((part) => part.functionCall).length;

/**
 * What ADK leaves out when the history ends with a response (K12): everything between the call and that response, except
 * responses of the same step.
 */
function leftOut(events: readonly Event[]): Event[] {
  const spoken = events.filter(({ content }) => content?.parts?.length);
  const [answer] = responsesOf(spoken.at(-1) ?? createEvent());
  if (!answer) return [];
  const at = spoken.findIndex((event) => callsOf(event).some(({ id }) => id === answer.id));
  const siblings = new Set(callsOf(spoken[at] ?? createEvent()).map(({ id }) => id));
  return spoken.slice(at + 1, -1).filter((event) => !responsesOf(event).some(({ id }) => siblings.has(id ?? "")));
}

// --- Requests ---------------------------------------------------------------------------------------------------------

describe("a request that ADK makes from a planned history", () => {
  let contents: Content[] = [];
  const agent = new LlmAgent({
    name: "agent",
    model: new Gemini({ model: "gemini-2.5-flash", apiKey: "unused" }),
    // In place of the model.
    beforeModelCallback: ({ request }) => {
      contents = structuredClone(request.contents);
      return { content: { role: "model", parts: [{ text: "Fine." }] } };
    },
  });

  /** Stores the chat, applies the plan, and makes the request that follows. */
  async function requestAfter(chat: Chat, plan: HistoryPlan, said: Content): Promise<Content[]> {
    const store = memoryStore();
    const limits = { approvalTtlMs: 1000, startMs: 1000, maxPending: 9 };
    const logger = silentLogger;
    const policies = new Policies({ inventory: new Toolsets({ agent, logger }), logger });
    const holder = holdCalls({ store, logger: silentLogger, policies, ...limits });
    const gate = new GatePlugin({ holder, logger: silentLogger });
    const sessions = new StoreSessionService(store);
    const runners = new Runners({ agent, appName: "app", store, sessions, plugins: [gate] });
    const stored = await store.openChat({ owner: "me", name: "chat", appName: "app" });
    const session = await sessions.load(stored);
    for (const event of chat.events) await sessions.appendEvent({ session, event });
    await applyPlan(plan, session, sessions);
    const content = plan.request ? { role: "user", parts: plan.request.parts } : said;
    contents = [];
    const run = runRequests(await runners.runnerOf(stored), {
      ...{ userId: "me", sessionId: stored.id, content, maxLlmCalls: 2, signal: new AbortController().signal },
    });
    for await (const event of run) expect(event.errorMessage).toBeUndefined();
    return contents;
  }

  function expectComplete(request: readonly Content[], { events }: Chat): void {
    expect(pairingErrors(request)).toEqual([]);
    const before = events.map(({ content }) => content);
    expect(wordsIn(request)).toEqual(expect.arrayContaining(wordsIn(before)));
    expect(callCount(request)).toBe(callCount(before));
  }

  it("has one response for every call directly after its step, and all that was said: before a message", async () => {
    await fc.assert(
      fc.asyncProperty(items, async (history) => {
        const chat = new Chat(history);
        const plan = chat.plan({ kind: "message" });
        expectComplete(await requestAfter(chat, plan, { role: "user", parts: [{ text: "Next." }] }), chat);
      }),
      { numRuns: 150 },
    );
  });

  it("has one response for every call directly after its step, and all that was said: with outcomes", async () => {
    await fc.assert(
      fc.asyncProperty(items, step, async (history, last) => {
        const chat = new Chat([...history, { ...last, isOpen: true }]);
        chat.settleAll();
        const plan = chat.plan({ kind: "outcomes" });
        fc.pre(plan.next === "ask");
        expectComplete(await requestAfter(chat, plan, emptyContent), chat);
      }),
      { numRuns: 250 },
    );
  });
});

// --- Walks ------------------------------------------------------------------------------------------------------------

/** What can happen in a chat, one after the other. Numbers choose among what is there at that time. */
const action = fc.oneof(
  fc.record({ do: fc.constant("message" as const) }),
  fc.record({ do: fc.constant("outcomes" as const) }),
  fc.record({ do: fc.constant("record" as const) }),
  fc.record({ do: fc.constant("live" as const), some: fc.nat(63) }),
  fc.record({ do: fc.constant("connect" as const), tells: fc.boolean() }),
  fc.record({ do: fc.constant("cancelled" as const), some: fc.nat(63) }),
  fc.record({ do: fc.constant("settle" as const), which: fc.nat(9), to: state }),
  fc.record({ do: fc.constant("resolve" as const), which: fc.nat(9) }),
  fc.record({ do: fc.constant("talk" as const), who: fc.constantFrom("user" as const, "model" as const) }),
  fc.record({ do: fc.constant("call" as const), step }),
);
const walk = fc.tuple(items, fc.array(action, { maxLength: 12 }));
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never;

/** A chat in which things happen, and what was planned so far. */
class Walk {
  readonly chat: Chat;
  /** Responses that went to a live model: it awaits none of these any more. */
  readonly sent = new Set<string>();
  /** How often the plans have told each row, and written each note. */
  readonly counts = new Map<string, number>();
  /** Rows whose outcome a response, a note or a request has said. */
  readonly said = new Set<string>();

  constructor(history: readonly Item[]) {
    this.chat = new Chat(history);
    const { rows, events } = this.chat;
    const answered = callsWithResponse(events);
    const unknown = unknownCalls(events);
    for (const row of rows) {
      if (row.told) this.#count(`tell ${this.#named(row.id)}`);
      const call = callInSession(row, "chat", rows);
      if (call && answered.has(call.toolCallId) && !unknown.has(row.toolCallId)) this.said.add(row.id);
    }
  }

  /** Does one thing. `check` sees each plan before it is applied, and the chat after it. */
  take(what: Action, check: Checks = {}): void {
    switch (what.do) {
      case "settle":
        return this.chat.settle(what.which, what.to);
      case "resolve":
        return this.chat.resolve(what.which);
      case "talk":
        return this.chat.talk(what.who);
      case "call":
        return this.chat.step({ ...what.step, isOpen: true });
      default:
        return this.occur(this.#occasionOf(what), check);
    }
  }

  occur(occasion: Occasion, { before, after }: Checks): void {
    const plan = this.chat.plan(occasion);
    before?.(plan, occasion, this);
    for (const id of saidIn(plan, this.chat)) this.said.add(id);
    for (const { note, tells, send } of plan.records) {
      if (note) this.#count(`note ${note.id}`);
      for (const id of tells) this.#count(`tell ${this.#named(id)}`);
      if (send?.functionResponse?.id) this.sent.add(send.functionResponse.id);
    }
    for (const id of plan.request?.tells ?? []) this.#count(`tell ${this.#named(id)}`);
    this.chat.apply(plan);
    this.chat.request(plan);
    after?.(plan, occasion, this);
    // A message follows in the history, and a model that is asked says something.
    if (occasion.kind === "message") this.chat.talk("user");
    if (occasion.kind !== "connect" && plan.next === "ask") this.chat.talk("model");
  }

  /** A row and its state: what a person has found out is told after it was told that no one knows. */
  #named(id: string): string {
    return `${id} ${this.chat.rows.find((row) => row.id === id)?.state}`;
  }

  /** The same occasion once more: a live model does not await what it was sent. */
  again(occasion: Occasion): Occasion {
    if (occasion.kind !== "live") return occasion;
    return { kind: "live", awaited: new Set([...occasion.awaited].filter((id) => !this.sent.has(id))) };
  }

  #occasionOf(what: Exclude<Action, { do: "settle" | "resolve" | "talk" | "call" }>): Occasion {
    const { events, open } = this.chat;
    const kept = keptResults(events);
    const choose = (some: number, from: readonly string[]) =>
      new Set(from.filter((id, index) => some & (1 << index) && !this.sent.has(id) && !kept.has(id)));
    switch (what.do) {
      case "live":
        return { kind: "live", awaited: choose(what.some, open) };
      case "cancelled":
        // Only Gemini Live cancels calls, and its calls have ids of ours, which ADK keeps.
        return { kind: "cancelled", calls: choose(what.some, this.#inStepsThatKeepIds(open)) };
      case "connect":
        return { kind: "connect", withMessage: what.tells };
      default:
        return { kind: what.do };
    }
  }

  #inStepsThatKeepIds(ids: readonly string[]): string[] {
    const steps = this.chat.events.map(callsOf).filter((calls) => calls.every(keepsId));
    return ids.filter((id) => steps.some((calls) => calls.some((each) => each.id === id)));
  }

  #count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }
}

/** The rows whose outcome a plan says. What an agent did is said by its success, or call by call. */
function saidIn({ records, request }: HistoryPlan, { rows }: Chat): string[] {
  const parts = [...records.map(({ send }) => send), ...(request?.parts ?? [])];
  const texts = [
    ...records.map(({ response }) => [response?.open.call.id, JSON.stringify(response?.response)] as const),
    ...parts.map((part) => [part?.functionResponse?.id, JSON.stringify(part?.functionResponse?.response)] as const),
    ...records.map(({ note }) => [note?.id.replace(/^(late|unclear)-apr-/, ""), note?.text] as const),
  ];
  return texts.flatMap(([callId, text = ""]) => {
    const subject = rows.find((row) => row.toolCallId === callId);
    if (!subject) return [];
    const isSaid = ({ id, state: its, toolName, innerSession }: Approval) =>
      isSettled(its) &&
      (id === subject.id || subject.state === "succeeded" || innerSession || text.includes(`"name":"${toolName}"`));
    const hadNoEffect = ({ state: its }: Approval) => its === "denied" || its === "cancelled" || its === "expired";
    return familyOf(subject, rows).flatMap((row) => (isSaid(row) || hadNoEffect(row) ? [row.id] : []));
  });
}

type Check = (plan: HistoryPlan, occasion: Occasion, walk: Walk) => void;
interface Checks {
  before?: Check;
  after?: Check;
}

/** Checks something on every walk. */
function everyWalk(checks: Checks, atEnd?: (end: Walk) => void) {
  return fc.property(walk, ([history, actions]) => {
    const path = new Walk(history);
    for (const what of actions) path.take(what, checks);
    atEnd?.(path);
  });
}
const runs = { numRuns: 1000 };

const rowOf = ({ rows }: Chat, callId: string) => rows.find(({ toolCallId }) => toolCallId === callId);
const asksByRequest = ({ next }: HistoryPlan, { kind }: Occasion) =>
  kind === "message" || (kind === "outcomes" && next === "ask");

describe("on every walk through occasions", () => {
  it("every call has one response when the model is asked by request", () => {
    fc.assert(
      everyWalk({
        after(plan, occasion, { chat }) {
          if (!asksByRequest(plan, occasion)) return;
          const answered = chat.events.flatMap((event) => responsesOf(event).map(({ id }) => id));
          const called = chat.events.flatMap((event) => callsOf(event).map(({ id }) => id));
          expect(answered).toHaveLength(called.length);
          expect(new Set(answered)).toEqual(new Set(called));
        },
      }),
      runs,
    );
  });

  it("ADK leaves nothing out of the history that the model gets", () => {
    fc.assert(
      everyWalk({
        after(plan, occasion, { chat }) {
          const isSent = occasion.kind === "connect" || (occasion.kind === "outcomes" && plan.next === "ask");
          if (isSent) expect(leftOut(chat.events)).toEqual([]);
        },
      }),
      runs,
    );
  });

  it("each outcome is told once, and in the end all are told", () => {
    fc.assert(
      everyWalk({}, (end) => {
        end.chat.settleAll();
        end.occur({ kind: "message" }, {});
        expect([...end.counts].filter(([, count]) => count > 1)).toEqual([]);
        expect(end.chat.rows.filter(({ told }) => !told)).toEqual([]);
      }),
      runs,
    );
  });

  it("what is marked as told was said: in a response, a note or a request", () => {
    fc.assert(
      everyWalk({
        before(plan, _, { chat, said }) {
          const now = new Set([...said, ...saidIn(plan, chat)]);
          const told = [...plan.records.flatMap(({ tells }) => tells), ...(plan.request?.tells ?? [])];
          expect(told.filter((id) => !now.has(id))).toEqual([]);
        },
      }),
      runs,
    );
  });

  it("nothing is told about what waits, except that a message says that it is not known yet", () => {
    fc.assert(
      everyWalk({
        before({ records, request, next }, { kind }, { chat }) {
          const waits = chat.rows.filter(modelWaitsFor);
          const told = [...records.flatMap(({ tells }) => tells), ...(request?.tells ?? [])];
          const notes = new Set(records.flatMap(({ note }) => note?.id ?? []));
          const given = [...records.map(({ send }) => send), ...(request?.parts ?? [])];
          const sent = new Set(given.flatMap((part) => part?.functionResponse?.id ?? []));
          for (const { id, toolCallId } of waits) {
            expect(told).not.toContain(id);
            expect(notes.has(`late-${id}`)).toBe(false);
            expect(sent.has(toolCallId)).toBe(false);
          }
          for (const { response } of records) {
            if (!response) continue;
            const row = rowOf(chat, response.open.call.id);
            if (!row || !modelWaitsFor(row)) continue;
            expect(kind).toBe("message");
            expect(response.unknown).toContain(row.toolCallId);
          }
          if (kind === "outcomes" && waits.some(({ toolCallId }) => chat.open.includes(toolCallId)))
            expect(next).toBe("wait");
        },
      }),
      runs,
    );
  });

  it("the same occasion once more changes nothing", () => {
    fc.assert(
      everyWalk({
        after(_, occasion, path) {
          const plan = path.chat.plan(path.again(occasion));
          expect(plan.records).toEqual([]);
          expect(plan.request).toBeUndefined();
        },
      }),
      runs,
    );
  });

  it("P4: only what a live model awaits is sent to it", () => {
    fc.assert(
      everyWalk({
        before({ records }, occasion) {
          const sent = records.flatMap(({ send }) => send?.functionResponse?.id ?? []);
          const awaited = occasion.kind === "live" ? occasion.awaited : new Set<string>();
          expect(sent.filter((id) => !awaited.has(id))).toEqual([]);
        },
      }),
      runs,
    );
  });

  it("P9: a step with ids that ADK removes has all its responses or none, in the order of its calls", () => {
    fc.assert(
      everyWalk({
        after(_, __, { chat }) {
          const answered = chat.events.flatMap((event) => responsesOf(event).map(({ id }) => id));
          for (const event of chat.events) {
            const ids = callsOf(event).map(({ id }) => id);
            if (callsOf(event).every(keepsId)) continue;
            expect([[], ids]).toContainEqual(answered.filter((id) => ids.includes(id ?? "")));
          }
        },
      }),
      runs,
    );
  });
});
