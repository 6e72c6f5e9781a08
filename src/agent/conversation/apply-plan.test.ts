import { createEvent, type Event, type Session } from "@google/adk";
import { afterEach, describe, expect, it } from "vitest";
import type { Store } from "../../stores/index.ts";
import { memoryStore } from "../../stores/memory.ts";
import { openCalls, responsesOf } from "../adk/history.ts";
import { StoreSessionService } from "../adk/session-service.ts";
import { applyPlan } from "./apply-plan.ts";
import type { HistoryRecord } from "./history-plan.ts";

const opened: Store[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()));
});

/** A history with steps of so many calls, named c0, c1 and so on. */
async function stage(...steps: number[]) {
  const store = memoryStore();
  opened.push(store);
  const sessions = new StoreSessionService(store);
  const session = await sessions.createSession({ appName: "app", userId: "me", sessionId: "chat" });
  let count = 0;
  for (const calls of steps) {
    const parts = Array.from({ length: calls }, () => ({
      functionCall: { id: `c${count++}`, name: "where", args: {} },
    }));
    await sessions.appendEvent({ session, event: createEvent({ author: "agent", content: { role: "model", parts } }) });
  }
  const records = openCalls(session.events).map((open): HistoryRecord => ({
    response: { open, response: { of: open.call.id }, unknown: [open.call.id], stateDelta: { [open.call.id]: 1 } },
    tells: [`apr-${open.call.id}`],
  }));
  const load = async () =>
    (await sessions.getSession({ appName: "app", userId: "me", sessionId: session.id })) as Session;
  return { sessions, session, records, load };
}

const idsOf = (event: Event) => responsesOf(event).map(({ id }) => id);
const names = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => `c${from + index}`);

describe("the records of a plan", () => {
  it("are few events for many calls of one step, in the order of the calls", async () => {
    const { sessions, session, records, load } = await stage(200);
    const applied = await applyPlan({ records, next: "ask" }, session, sessions);
    const { events, state } = await load();
    const written = events.slice(1);
    expect(written.map((event) => idsOf(event).length)).toEqual([64, 64, 64, 8]);
    expect(written.flatMap(idsOf)).toEqual(names(0, 200));
    expect(written.flatMap(({ customMetadata }) => customMetadata?.["unknown"])).toEqual(names(0, 200));
    expect(Object.keys(state)).toHaveLength(200);
    expect(applied).toMatchObject({ isComplete: true, tells: names(0, 200).map((id) => `apr-${id}`) });
  });

  it("stay apart for calls of different steps, and for calls with a note or an action", async () => {
    const { sessions, session, records, load } = await stage(3, 2);
    const [first, second, third, ...others] = records;
    if (!first?.response || !second || !third) throw new Error("There are five records.");
    first.response.actions = { skipSummarization: true };
    second.note = { id: "note", text: "News.", about: "c1" };
    const applied = await applyPlan({ records: [first, second, third, ...others], next: "ask" }, session, sessions);
    const written = (await load()).events.slice(2);
    expect(written.map((event) => (event.id === "note" ? "note" : idsOf(event).join()))).toEqual([
      "c0",
      "c1",
      "note",
      "c2",
      "c3,c4",
    ]);
    expect(applied.notes).toEqual([{ text: "News." }]);
    expect(written[0]?.actions.skipSummarization).toBe(true);
  });

  it("leave out a response that another process has written, and nothing else", async () => {
    const { sessions, session, records, load } = await stage(5);
    const other = await load();
    const taken = records[2];
    await applyPlan({ records: taken ? [taken] : [], next: "ask" }, other, sessions);
    const applied = await applyPlan({ records, next: "ask" }, session, sessions);
    expect(applied.isComplete).toBe(false);
    expect(applied.tells).toEqual(["apr-c0", "apr-c1", "apr-c3", "apr-c4"]);
    expect(new Set((await load()).events.flatMap(idsOf))).toEqual(new Set(names(0, 5)));
  });
});
