import { createEvent, type Event } from "@google/adk";
import type { Part } from "@google/genai";
import { describe, expect, it } from "vitest";
import type { JsonObject, StoredEvent } from "../../stores/index.ts";
import { metadataOf } from "../adk/event-metadata.ts";
import { messageEvent, noteEvent } from "../adk/new-events.ts";
import { type Cut, cutHistory } from "./cut-history.ts";

const user = (id: string) => messageEvent({ id, role: "user", parts: [{ type: "text", text: id }] });
const model = (reply: string | undefined, ...parts: Part[]): Event =>
  createEvent({
    id: parts.map(({ text, functionCall }) => text ?? functionCall?.id).join("+"),
    author: "agent",
    content: { role: "model", parts },
    ...(reply !== undefined && { customMetadata: { reply } }),
  });
const call = (id: string, name = "pay"): Part => ({ functionCall: { id, name, args: {} } });
const responds = (...ids: string[]): Event =>
  createEvent({
    id: `to ${ids.join("+")}`,
    author: "user",
    content: {
      role: "user",
      parts: ids.map((id) => ({ functionResponse: { id, name: "pay", response: { paid: id } } })),
    },
  });

function cut(events: readonly Event[], how: Cut) {
  const stored = events.map((event, index): StoredEvent => ({
    position: index + 1,
    event: event as unknown as JsonObject,
    size: JSON.stringify(event).length,
  }));
  const { leaving, changed, removed, kept } = cutHistory(stored, how);
  const after = events
    .filter((_, index) => !leaving.includes(index + 1))
    .map((event) => changed.find(({ id }) => id === event.id) ?? event);
  const words = after.flatMap(({ content }) =>
    (content?.parts ?? []).map(
      ({ text, functionCall, functionResponse }) => text ?? functionCall?.id ?? `to ${functionResponse?.id}`,
    ),
  );
  return { words, removed: removed.map((each) => each.call.id), kept: kept.map((each) => each.call.id), after };
}

const withdrawn = (...ids: string[]) => ({ withdrawn: new Set(ids) });
const remade = (keeps: (id: string) => boolean, ...messages: string[]) => ({
  remade: { messages: new Set(messages), reply: "new", keeps: ({ id }: { id: string }) => keeps(id) },
});

describe("an edit", () => {
  it("removes everything from the edited message on", () => {
    const events = [user("u1"), model("m1", { text: "hi" }), user("u2"), model("m2", call("c1")), responds("c1")];
    expect(cut(events, withdrawn("u2", "m2"))).toMatchObject({ words: ["u1", "hi"], removed: ["c1"] });
  });

  it("keeps what concerns earlier messages, wherever it is", () => {
    const events = [
      ...[user("u1"), model("m1", call("c1")), user("u2"), model("m2", { text: "meanwhile" })],
      ...[responds("c1"), noteEvent("late-1", "it ended", { about: "c1" }), model("m1", { text: "paid" })],
    ];
    expect(cut(events, withdrawn("u2", "m2")).words).toEqual(["u1", "c1", "to c1", "it ended", "paid"]);
  });

  it("removes notes about calls that leave, and keeps notes of earlier withdrawals and of older releases", () => {
    const old = noteEvent("late-old", "[context, not from the user] The earlier call x ended.");
    const events = [
      ...[user("u1"), model("m1", call("c1")), responds("c1"), noteEvent("late-1", "gone", { about: "c1" })],
      ...[noteEvent("withdrawn-0", "stays", { about: "c0" }), old],
    ];
    expect(cut(events, withdrawn("u1", "m1")).words).toEqual(["stays", old.content?.parts?.[0]?.text]);
  });

  it("removes notes about the calls of an agent that leaves, and keeps those of an agent that left earlier", () => {
    const callers: Record<string, string> = { inner: "c1", older: "c0" };
    const events = [
      ...[user("u1"), model("m1", call("c1", "clerk")), responds("c1")],
      ...[noteEvent("late-1", "gone", { about: "inner" }), noteEvent("withdrawn-0", "stays", { about: "older" })],
    ];
    expect(cut(events, { ...withdrawn("u1", "m1"), callerOf: (id) => callers[id] }).words).toEqual(["stays"]);
  });

  it("works on histories of older releases, which do not name replies", () => {
    const events = [user("u1"), model(undefined, { text: "hi" }), user("u2"), model(undefined, { text: "there" })];
    expect(cut(events, withdrawn("u2", "m2")).words).toEqual(["u1", "hi"]);
  });
});

describe("a reply that is made again", () => {
  it("keeps its calls and their responses, without words, in the name of the new message", () => {
    const events = [
      user("u1"),
      model("m1", { text: "I pay" }, call("c1")),
      responds("c1"),
      model("m1", { text: "done" }),
    ];
    const { words, kept, after } = cut(events, { ...withdrawn("m1"), after: "u1", ...remade(() => true, "m1") });
    expect(words).toEqual(["u1", "c1", "to c1"]);
    expect(kept).toEqual(["c1"]);
    expect(after.slice(1).map((event) => metadataOf(event).reply)).toEqual(["new", "new"]);
  });

  it("splits a step whose calls do not all stay", () => {
    const events = [user("u1"), model("m1", call("c1"), call("c2")), responds("c1", "c2")];
    const result = cut(events, { ...withdrawn("m1"), after: "u1", ...remade((id) => id === "c2", "m1") });
    expect(result).toMatchObject({ words: ["u1", "c2", "to c2"], kept: ["c2"], removed: ["c1"] });
  });

  it("keeps no call of a later message", () => {
    const events = [
      ...[user("u1"), model("m1", call("c1")), responds("c1"), user("u2"), model("m2", call("c2")), responds("c2")],
    ];
    const how = { ...withdrawn("m1", "u2", "m2"), after: "u1", ...remade(() => true, "m1") };
    expect(cut(events, how)).toMatchObject({ words: ["u1", "c1", "to c1"], removed: ["c2"] });
  });

  it("keeps a handover only if a call that stays comes after it", () => {
    const transfer = call("t", "transfer_to_agent");
    const how = { ...withdrawn("m1"), after: "u1", ...remade(() => true, "m1") };
    const before = [user("u1"), model("m1", transfer), responds("t"), model("m1", call("c1")), responds("c1")];
    expect(cut(before, how).kept).toEqual(["t", "c1"]);
    const behind = [user("u1"), model("m1", call("c1")), responds("c1"), model("m1", transfer), responds("t")];
    expect(cut(behind, how)).toMatchObject({ kept: ["c1"], words: ["u1", "c1", "to c1"] });
  });

  it("does not look broken off afterwards", () => {
    const failed = { ...model("m1", call("c1")), errorCode: "500", errorMessage: "boom" };
    const { after } = cut([user("u1"), failed], { ...withdrawn("m1"), after: "u1", ...remade(() => true, "m1") });
    expect(after.at(-1)).not.toHaveProperty("errorCode");
  });
});
