import { startScriptedGemini, type ScriptedGemini } from "adk-stream-protocol/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callsIn, connectLive, said } from "../../test/fixtures/gemini-live-client.ts";
import { demoRules } from "./demo-rules.ts";

let gemini: ScriptedGemini;
beforeAll(async () => {
  gemini = await startScriptedGemini({ rules: demoRules });
});
afterAll(() => gemini.close());

describe("the demo script in a live session", () => {
  const tools = {
    tools: [{ functionDeclarations: [{ name: "process_payment" }, { name: "get_weather" }] }],
  };
  const paid = { status: "success", transaction_id: "t1", wallet_balance: 950 };
  const payment = '{"amount":50,"currency":"USD","recipient":"Hanako"}';

  it("responds while a payment waits, and reports it once when it is made", async () => {
    gemini.reset(demoRules);
    const client = await connectLive(gemini.url, tools);
    client.ask("Send 50 dollars to Hanako");
    expect(callsIn(await client.call())).toMatchObject([{ id: "1", args: { amount: 50, recipient: "Hanako" } }]);
    client.ask("hello");
    expect(said(await client.turn())).toMatch(/^Hello!/);
    client.respond({ id: "1", name: "process_payment", response: paid });
    expect(said(await client.turn())).toMatch(/\$50 .*Hanako/);
    client.ask("thanks");
    expect(said(await client.turn())).toBe("You are welcome! Is there anything else?");
  });

  it("makes another payment while the first waits, and reports each by itself", async () => {
    gemini.reset(demoRules);
    const client = await connectLive(gemini.url, tools);
    client.ask("Send 50 dollars to Hanako");
    await client.call();
    client.ask("Send 20 dollars to Bob");
    expect(callsIn(await client.call())).toMatchObject([{ id: "2", args: { recipient: "Bob" } }]);
    client.respond({ id: "1", response: { error: "The user rejected this call; it was not run.", status: "denied" } });
    expect(said(await client.turn())).toMatch(/not approve .*Hanako/);
    client.respond({ id: "2", response: paid });
    const last = said(await client.turn());
    expect(last).toMatch(/\$20 .*Bob/);
    expect(last).not.toContain("Hanako");
  });

  it("reports an outcome once that comes as a note, after a history that was sent as text", async () => {
    gemini.reset(demoRules);
    const client = await connectLive(gemini.url, tools);
    const user = (sentence: string) => ({ role: "user", parts: [{ text: sentence }] });
    const turns = [
      user("Send 50 dollars to Hanako"),
      { role: "model", parts: [{ text: `[called process_payment(${payment})]` }] },
      user(`[process_payment returned {"error":"not known yet","status":"executing"}]`),
    ];
    client.session.sendClientContent({ turns, turnComplete: false });
    client.ask(
      `[context, not from the user] The earlier call process_payment(${payment}) ended as succeeded: ${JSON.stringify(paid)}`,
    );
    const told = await client.turn();
    expect(said(told)).toMatch(/\$50 .*Hanako/);
    expect(callsIn(told)).toEqual([]);
    expect(gemini.requests[0]).toMatchObject({ text: "Send 50 dollars to Hanako", fresh: false });
    client.ask("thanks");
    expect(said(await client.turn())).toBe("You are welcome! Is there anything else?");
  });

  it("does not wait for a non-blocking call, and reports its outcome in a new turn", async () => {
    gemini.reset(demoRules, { live: { behavior: "NON_BLOCKING" } });
    const client = await connectLive(gemini.url, tools);
    client.ask("花子さんに50ドル送金してください");
    const turn = await client.turn();
    expect(callsIn(turn)).toHaveLength(1);
    expect(said(turn)).toContain("承認");
    client.respond({ id: "1", response: paid });
    expect(said(await client.turn())).toMatch(/花子.*50ドル/);
  });
});
