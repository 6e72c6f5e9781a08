import { createEvent, createEventActions, type Event, type Session } from "@google/adk";
import { afterEach, describe, expect, it } from "vitest";
import { storeKinds } from "../../../test/fixtures/store-kinds.ts";
import { AlreadyResponded, type Store } from "../../stores/index.ts";
import { memoryStore } from "../../stores/memory.ts";
import { StoreSessionService } from "./session-service.ts";

const opened: Store[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()));
});

const said = (text: string, fields: Partial<Event> = {}): Event =>
  createEvent({ author: "agent", content: { role: "model", parts: [{ text }] }, ...fields });
const answered = (id: string): Event =>
  createEvent({
    author: "agent",
    content: { role: "user", parts: [{ functionResponse: { id, name: "pay", response: {} } }] },
  });
const withState = (stateDelta: Record<string, unknown>): Event =>
  said("", { actions: createEventActions({ stateDelta }) });
const textsOf = ({ events }: Session) => events.map(({ content }) => content?.parts?.[0]?.text);

describe.each(storeKinds)("ADK's sessions on a store: $name", ({ options }) => {
  async function open() {
    const clock = { now: 1_800_000_000_000 };
    const store = (options().store ?? ((now: () => number) => memoryStore({ now })))(() => clock.now);
    opened.push(store);
    const service = new StoreSessionService(store);
    const session = await service.createSession({ appName: "app", userId: "me", sessionId: "chat" });
    const key = { appName: "app", userId: "me", sessionId: session.id };
    const load = async () => (await service.getSession(key))!;
    return { clock, store, service, session, key, load };
  }

  it("keep events in the order they were appended, whatever their times say", async () => {
    const { service, session, load } = await open();
    for (const [index, text] of ["one", "two", "three"].entries())
      await service.appendEvent({ session, event: said(text, { timestamp: 1000 - index }) });
    expect(textsOf(await load())).toEqual(["one", "two", "three"]);
    expect(textsOf(session)).toEqual(["one", "two", "three"]);
  });

  it("keep concurrent appends of two copies", async () => {
    const { service, session, load } = await open();
    const other = await load();
    await Promise.all([
      service.appendEvent({ session, event: said("one") }),
      service.appendEvent({ session: other, event: said("two") }),
    ]);
    expect(new Set(textsOf(await load()))).toEqual(new Set(["one", "two"]));
  });

  it("replace an event that comes again under its id", async () => {
    const { service, session, load } = await open();
    const event = said("draft");
    await service.appendEvent({ session, event });
    await service.appendEvent({ session, event: said("final", { id: event.id }) });
    expect(textsOf(await load())).toEqual(["final"]);
    expect(textsOf(session)).toEqual(["final"]);
  });

  it("do not keep what is partial", async () => {
    const { service, session, load } = await open();
    const event = said("Hel", { partial: true });
    expect(await service.appendEvent({ session, event })).toBe(event);
    expect((await load()).events).toEqual([]);
  });

  it("take one response per call", async () => {
    const { service, session, load } = await open();
    await service.appendEvent({ session, event: answered("c1") });
    const before = session.events.length;
    await expect(service.appendEvent({ session, event: answered("c1") })).rejects.toThrow(AlreadyResponded);
    await expect(service.appendEvent({ session, event: answered("c1") })).rejects.toMatchObject({ callId: "c1" });
    expect((await load()).events).toHaveLength(1);
    expect(session.events).toHaveLength(before);
    await service.appendEvent({ session, event: answered("c2") });
  });

  it("let one of two responses win that come at once", async () => {
    const { service, session, load } = await open();
    const results = await Promise.allSettled([
      service.appendEvent({ session, event: answered("c1") }),
      service.appendEvent({ session: await load(), event: answered("c1") }),
    ]);
    expect(results.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  });

  it("merge state as it comes, and drop what is temporary", async () => {
    const { service, session, load } = await open();
    await service.appendEvent({ session, event: withState({ word: "tea", "temp:draft": 1, list: [1] }) });
    await service.appendEvent({ session, event: withState({ word: "coffee" }) });
    const loaded = await load();
    expect(loaded.state).toEqual({ word: "coffee", list: [1] });
    expect(session.state).toEqual({ word: "coffee", list: [1] });
    expect(JSON.stringify(loaded.events)).not.toContain("temp:");
  });

  it("begin with the state they are given, for good", async () => {
    const { service } = await open();
    const made = await service.createSession({
      appName: "app",
      userId: "me",
      sessionId: "second",
      state: { word: "tea" },
    });
    expect(made.state).toEqual({ word: "tea" });
    expect((await service.getSession({ appName: "app", userId: "me", sessionId: made.id }))?.state).toEqual({
      word: "tea",
    });
  });

  it("are made once: the same name is the same session", async () => {
    const { service, session } = await open();
    await service.appendEvent({ session, event: said("one") });
    const again = await service.createSession({ appName: "app", userId: "me", sessionId: "chat" });
    expect(again.id).toBe(session.id);
    expect(textsOf(again)).toEqual(["one"]);
    expect((await service.createSession({ appName: "app", userId: "me" })).id).not.toBe(session.id);
  });

  it("are their owner's: anybody else's look like none", async () => {
    const { service, key, load } = await open();
    expect(await service.getSession({ ...key, userId: "you" })).toBeUndefined();
    expect(await service.getSession({ ...key, sessionId: "none" })).toBeUndefined();
    await service.deleteSession({ ...key, userId: "you" });
    expect(await load()).toBeDefined();
    await service.deleteSession(key);
    expect(await service.getSession(key)).toBeUndefined();
  });

  it("can be read in part", async () => {
    const { service, session, key } = await open();
    for (const [index, text] of ["one", "two", "three"].entries())
      await service.appendEvent({ session, event: said(text, { timestamp: 1000 + index }) });
    expect(textsOf((await service.getSession({ ...key, config: { numRecentEvents: 2 } }))!)).toEqual(["two", "three"]);
    expect(textsOf((await service.getSession({ ...key, config: { afterTimestamp: 1001 } }))!)).toEqual([
      "two",
      "three",
    ]);
    expect(
      textsOf((await service.getSession({ ...key, config: { numRecentEvents: 1, afterTimestamp: 1001 } }))!),
    ).toEqual(["three"]);
  });

  it("do not let go of what they hold: a loaded copy changes nothing", async () => {
    const { service, session, load } = await open();
    await service.appendEvent({ session, event: said("one") });
    const copy = await load();
    copy.events.pop();
    copy.state["word"] = "tea";
    expect(textsOf(await load())).toEqual(["one"]);
    expect((await load()).state).toEqual({});
  });
});
