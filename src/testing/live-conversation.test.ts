import { describe, expect, it } from "vitest";
import { createLiveConversation } from "./live-conversation.ts";

const user = (said: string) => ({ role: "user", parts: [{ text: said }] });
const model = (said: string) => ({ role: "model", parts: [{ text: said }] });

describe("a live conversation", () => {
  it("joins the words of a turn, and keeps the place where the turn began", () => {
    const conversation = createLiveConversation();
    conversation.addTurns([user("hi")]);
    const turn = conversation.beginTurn();
    turn.say({ text: "Hello " });
    conversation.addTurns([user("a note")]);
    turn.say({ text: "there." });
    expect(turn.finish()).toBe(true);
    expect(conversation.contents()).toEqual([user("hi"), model("Hello there."), user("a note")]);
    expect(conversation.tokens()).toBeGreaterThan(0);
  });

  it("removes a turn that was stopped before its first word", () => {
    const conversation = createLiveConversation();
    conversation.addTurns([user("hi")]);
    conversation.beginTurn().stop();
    expect(conversation.contents()).toEqual([user("hi")]);
  });

  it("has the responses of a step due when all have come, in the order of the calls", () => {
    const conversation = createLiveConversation();
    const turn = conversation.beginTurn();
    turn.call([{ name: "a" }, { name: "b" }], true);
    expect(turn.isWaiting()).toBe(true);
    expect(turn.finish()).toBe(false);
    conversation.respond({ id: "2", response: { ok: 2 } });
    expect(conversation.takeDue()).toBe(false);
    conversation.respond({ id: "1", response: { ok: 1 } });
    expect(conversation.takeDue()).toBe(true);
    expect(conversation.contents().at(-1)).toMatchObject({
      role: "user",
      parts: [{ functionResponse: { id: "1", name: "a" } }, { functionResponse: { id: "2", name: "b" } }],
    });
  });

  it("lets a response to a call that is not waited for come first, last or silently", () => {
    const conversation = createLiveConversation();
    const turn = conversation.beginTurn();
    turn.call([{ name: "a" }, { name: "b" }, { name: "c" }], false);
    expect(turn.isWaiting()).toBe(false);
    expect(conversation.respond({ id: "1" })).toEqual({ interrupts: false });
    expect(conversation.respond({ id: "2", scheduling: "INTERRUPT" })).toEqual({ interrupts: true });
    conversation.respond({ id: "3", scheduling: "SILENT" });
    const ids = () =>
      conversation
        .contents()
        .flatMap(({ parts }) => parts ?? [])
        .flatMap(({ functionResponse }) => functionResponse?.id ?? []);
    expect(ids()).toEqual(["3"]);
    while (conversation.takeDue());
    expect(ids()).toEqual(["3", "2", "1"]);
  });

  it("takes no response to a call that was cancelled, has one, or was never made", () => {
    const conversation = createLiveConversation();
    conversation.beginTurn().call([{ name: "a" }, { name: "b", id: "mine" }], false);
    conversation.respond({ id: "1" });
    expect(conversation.cancelCalls()).toEqual(["mine"]);
    expect(conversation.respond({ id: "1" })).toEqual({ error: 'a response to call "1", which already has one' });
    expect(conversation.respond({ id: "mine" })).toEqual({ error: 'a response to call "mine", which was cancelled' });
    expect(conversation.respond({})).toEqual({
      error: "a response to call without an id, which this session never made",
    });
  });
});
