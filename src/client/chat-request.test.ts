import { describe, expect, it } from "vitest";
import { acceptAnyTurn, awaitsTurn, newChatRequest } from "./chat-request.ts";
import { KeptTurns } from "./kept-turns.ts";

const onSettled = () => undefined;

describe("awaitsTurn", () => {
  it("is true for the turns that the server named", () => {
    const request = newChatRequest({ requestId: "r1", message: {}, onSettled });
    expect(awaitsTurn(request, "t1")).toBe(false);
    request.accepted.add("t1");
    expect(awaitsTurn(request, "t1")).toBe(true);
    expect(awaitsTurn(request, "t2")).toBe(false);
  });

  it("is true for any turn if the request has no message and the server has attached it", () => {
    const replay = newChatRequest({ requestId: "r1", onSettled });
    expect(awaitsTurn(replay, "t1")).toBe(false);
    acceptAnyTurn(replay);
    expect(awaitsTurn(replay, "t1")).toBe(true);
  });

  it("is false once the request reads a turn", () => {
    const request = newChatRequest({ requestId: "r1", message: {}, onSettled });
    request.accepted.add("t1").add("t2");
    request.turn = new KeptTurns(1).add({ id: "t1", reply: "m1", isClaimed: true });
    expect(awaitsTurn(request, "t2")).toBe(false);
  });
});
