import { createEvent, type Event } from "@google/adk";
import type { Content, Part } from "@google/genai";
import { describe, expect, it } from "vitest";
import { beginWithUser, orderResponses } from "./request-contents.ts";

const call = (name: string, id?: string): Part => ({ functionCall: { name, ...(id !== undefined && { id }) } });
const response = (name: string, id?: string): Part => ({ functionResponse: { name, ...(id !== undefined && { id }) } });
const model = (...parts: Part[]): Content => ({ role: "model", parts });
const user = (...parts: Part[]): Content => ({ role: "user", parts });

describe("orderResponses", () => {
  const order = (calls: Part[], responses: Part[]) => {
    const contents = [user({ text: "Pay." }), model(...calls), user(...responses)];
    orderResponses(contents);
    return contents[2]?.parts?.map(({ functionResponse }) => functionResponse?.name);
  };

  it("puts the responses of a step in the order of its calls", () => {
    const calls = [call("a", "1"), { text: "and" }, call("b", "2"), call("c", "3")];
    expect(order(calls, [response("c", "3"), response("a", "1"), response("b", "2")])).toEqual(["a", "b", "c"]);
  });

  it("leaves the responses of a step alone that has a call without an id", () => {
    expect(order([call("a"), call("b")], [response("a"), response("b")])).toEqual(["a", "b"]);
    const mixed = [call("a", "1"), call("b"), call("c", "3")];
    expect(order(mixed, [response("a", "1"), response("b"), response("c", "3")])).toEqual(["a", "b", "c"]);
  });

  it("accepts contents without parts, and a call as the last content", () => {
    const contents = [{ role: "user" }, model(call("a", "1"), call("b", "2"))];
    orderResponses(contents);
    expect(contents).toHaveLength(2);
  });
});

describe("beginWithUser", () => {
  const asked = (text: string): Event => createEvent({ author: "user", content: user({ text }) });

  it("puts the user's last text before a request that begins with the model", () => {
    const contents = [model(call("pay", "1")), user(response("pay", "1"))];
    beginWithUser(contents, [asked("Hello."), asked("Pay."), asked("")]);
    expect(contents[0]).toEqual(user({ text: "Pay." }));
    expect(contents).toHaveLength(3);
  });

  it("leaves a request alone that begins with the user, or to which the user said nothing", () => {
    const contents = [user({ text: "Hello." })];
    beginWithUser(contents, [asked("Pay.")]);
    expect(contents).toEqual([user({ text: "Hello." })]);
    const silent = [model(call("pay", "1"))];
    beginWithUser(silent, []);
    expect(silent).toHaveLength(1);
  });

  it("gives the request its own copy of the text", () => {
    const events = [asked("Pay.")];
    const contents = [model(call("pay", "1"))];
    beginWithUser(contents, events);
    contents[0]?.parts?.push({ text: "More." });
    expect(events[0]?.content?.parts).toEqual([{ text: "Pay." }]);
  });
});
