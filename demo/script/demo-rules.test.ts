import { InMemorySessionService, LogLevel, Runner, setLogLevel, StreamingMode } from "@google/adk";
import { geminiAt, startScriptedGemini, type Ask, type ScriptedGemini } from "adk-stream-protocol/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createAgent } from "../server/agent.ts";
import { openSqliteDeployments } from "../server/sqlite-deployments.ts";
import { openSqliteWallet } from "../server/sqlite-wallet.ts";
import { demoRules } from "./demo-rules.ts";

type Content = Ask["contents"][number];
type Part = NonNullable<Content["parts"]>[number];

setLogLevel(LogLevel.ERROR);

let gemini: ScriptedGemini;
beforeAll(async () => {
  gemini = await startScriptedGemini({ rules: demoRules });
});
afterAll(() => gemini.close());

const allTools = ["process_payment", "get_weather", "get_location", "change_bgm", "deploy"];

const user = (said: string): Content => ({ role: "user", parts: [{ text: said }] });
const called = (name: string, args: Record<string, unknown>): Content => ({
  role: "model",
  parts: [{ functionCall: { name, args } }],
});
const answered = (name: string, response: Record<string, unknown>): Content => ({
  role: "user",
  parts: [{ functionResponse: { name, response } }],
});

/** The parts of the demo's response to this conversation, asked over HTTP as an agent asks. */
async function say(contents: readonly Content[], tools = allTools): Promise<Part[]> {
  const body = { contents, tools: [{ functionDeclarations: tools.map((name) => ({ name })) }] };
  const url = `${gemini.url}/v1beta/models/gemini-2.5-flash:generateContent`;
  const response = await fetch(url, { method: "POST", body: JSON.stringify(body) });
  const reply = (await response.json()) as { candidates: [{ content: Content }] };
  return reply.candidates[0].content.parts ?? [];
}

const callsIn = (parts: readonly Part[]) => parts.flatMap(({ functionCall }) => functionCall ?? []);
const textIn = (parts: readonly Part[]) =>
  parts.flatMap((part) => (part.thought === true ? [] : (part.text ?? []))).join("");

const pay = (amount: number, recipient: string, description?: string) => ({
  name: "process_payment",
  args: { amount, recipient, currency: "USD", ...(description !== undefined && { description }) },
});
const weather = (location: string) => ({ name: "get_weather", args: { location } });
const play = (track: number) => ({ name: "change_bgm", args: { track } });
const locate = { name: "get_location", args: {} };
const deploy = (service: string) => ({ name: "deploy", args: { service } });

describe("the demo script understands", () => {
  it.each([
    // deployments
    ["Deploy the shop", [deploy("shop")]],
    ["please deploy our broken-shop now", [deploy("broken-shop")]],
    ["deploy", [deploy("shop")]],
    ["ショップをデプロイして", [deploy("ショップ")]],
    ["shopを本番にデプロイしてください", [deploy("shop")]],
    // one payment, English
    ["Send 50 dollars to Hanako", [pay(50, "Hanako")]],
    ["send 50 dollars to hanako please", [pay(50, "hanako")]],
    ["SEND 50 DOLLARS TO HANAKO NOW!", [pay(50, "HANAKO")]],
    ["Could you please send $50 to Hanako?", [pay(50, "Hanako")]],
    ["pay Bob $12.50", [pay(12.5, "Bob")]],
    ["Pay bob 12.50.", [pay(12.5, "bob")]],
    ["pay Bob $12.50 for lunch", [pay(12.5, "Bob", "lunch")]],
    ["Pay Will 20 dollars for lunch and coffee, please", [pay(20, "Will", "lunch and coffee")]],
    ["Transfer 1,000 USD to Hanako Yamada.", [pay(1000, "Hanako Yamada")]],
    ["Please transfer to Bob: 40 dollars", [pay(40, "Bob")]],
    ["I'd like to send Hanako 50 bucks", [pay(50, "Hanako")]],
    ["Give Hanako-san 50 dollars", [pay(50, "Hanako")]],
    ["give my friend Bob 5 dollars", [pay(5, "Bob")]],
    ["Send a payment of US$50 to Hanako", [pay(50, "Hanako")]],
    ["Make a payment to Hanako for 50 dollars", [pay(50, "Hanako")]],
    ["Wire 75 to Bob", [pay(75, "Bob")]],
    ["$50 to Hanako", [pay(50, "Hanako")]],
    ["Send 50 dollars over to Hanako's account", [pay(50, "Hanako")]],
    ["Send 50 dollars to 花子さん", [pay(50, "花子")]],
    ["Send ５０ dollars to Hanako", [pay(50, "Hanako")]],
    ["Send 5000 dollars to Hanako", [pay(5000, "Hanako")]],
    ["Send -5 dollars to Bob", [pay(-5, "Bob")]],
    ["Send 50 dollars to Hanako and wish her luck", [pay(50, "Hanako")]],
    ["Hi Bob, send 50 dollars to Hanako", [pay(50, "Hanako")]],
    ["Pay Bob 5 dollars for 2 coffees", [pay(5, "Bob")]],
    // one payment, Japanese
    ["花子さんに50ドル送金してください", [pay(50, "花子")]],
    ["花子さんに５０ドル送金してください。", [pay(50, "花子")]],
    ["花子さんに50ドルを送ってください", [pay(50, "花子")]],
    ["花子さんへ50ドル送金お願いします", [pay(50, "花子")]],
    ["花子様に50ドルお支払いください", [pay(50, "花子")]],
    ["花子さまに50ドル払って", [pay(50, "花子")]],
    ["太郎くんに12.50ドル払って", [pay(12.5, "太郎")]],
    ["さくらちゃんに5ドルあげて", [pay(5, "さくら")]],
    ["さとみさんに50ドル送って", [pay(50, "さとみ")]],
    ["ともこさんに50ドル送って", [pay(50, "ともこ")]],
    ["明日香さんに50ドル送って", [pay(50, "明日香")]],
    ["さと子さんに50ドル送って", [pay(50, "さと子")]],
    ["高橋ゆりさんに50ドル送って", [pay(50, "高橋ゆり")]],
    ["Bobに40ドル送って", [pay(40, "Bob")]],
    ["Hanako Yamadaさんに40ドル送って", [pay(40, "Hanako Yamada")]],
    ["ボブに $40 振り込んで", [pay(40, "ボブ")]],
    ["50ドルを花子さんに送って", [pay(50, "花子")]],
    ["50ドル、花子さんに送金して", [pay(50, "花子")]],
    ["すみません、花子さんに1,000ドル送金してもらえないでしょうか？", [pay(1000, "花子")]],
    ["では花子さんに50ドル送って", [pay(50, "花子")]],
    ["友達の花子さんに50ドル送って", [pay(50, "花子")]],
    ["ランチ代として花子さんに50ドル送って", [pay(50, "花子", "ランチ代")]],
    // several payments
    ["Send 30 dollars to Alice and 40 to Bob", [pay(30, "Alice"), pay(40, "Bob")]],
    ["Send $30 to Alice and $40 to Bob.", [pay(30, "Alice"), pay(40, "Bob")]],
    ["send 30 dollars to alice, and 40 dollars to bob", [pay(30, "alice"), pay(40, "bob")]],
    ["Pay Alice 30 and Bob 40", [pay(30, "Alice"), pay(40, "Bob")]],
    ["Pay Alice 30 for lunch and Bob 40 for the taxi", [pay(30, "Alice", "lunch"), pay(40, "Bob", "the taxi")]],
    ["Send Alice $30 and $40 to Bob", [pay(30, "Alice"), pay(40, "Bob")]],
    ["Send 30 dollars each to Alice and Bob", [pay(30, "Alice"), pay(30, "Bob")]],
    ["Pay Alice and Bob 30 dollars each", [pay(30, "Alice"), pay(30, "Bob")]],
    ["Send 10 to Alice, 20 to Bob and 30 to Carol", [pay(10, "Alice"), pay(20, "Bob"), pay(30, "Carol")]],
    ["Send 10 to Alice and Bob, 20 to Carol", [pay(10, "Alice"), pay(10, "Bob"), pay(20, "Carol")]],
    ["Send 30 to Alice and Bob 40", [pay(30, "Alice"), pay(40, "Bob")]],
    ["Pay 20 to Bob, Carol and Dave", [pay(20, "Bob"), pay(20, "Carol"), pay(20, "Dave")]],
    ["Aliceに30ドル、Bobに40ドル送金してください", [pay(30, "Alice"), pay(40, "Bob")]],
    ["Aliceさんに30ドルとBobさんに40ドルを送金してください", [pay(30, "Alice"), pay(40, "Bob")]],
    ["花子さんに30ドル、太郎さんに40ドル払って", [pay(30, "花子"), pay(40, "太郎")]],
    ["50ドルを花子さんに、30ドルを太郎さんに送って", [pay(50, "花子"), pay(30, "太郎")]],
    ["花子さんと太郎さんに30ドルずつ送って", [pay(30, "花子"), pay(30, "太郎")]],
    // weather
    ["Weather in Tokyo?", [weather("Tokyo")]],
    ["What's the weather like in New York today?", [weather("New York")]],
    ["what is the weather in san francisco right now", [weather("san francisco")]],
    ["Tokyo weather", [weather("Tokyo")]],
    ["How's London's weather?", [weather("London")]],
    ["Is it raining in Paris?", [weather("Paris")]],
    ["Show me the forecast for Osaka, please.", [weather("Osaka")]],
    ["Weather in Tokyo and Osaka?", [weather("Tokyo"), weather("Osaka")]],
    ["Weather in Tokyo, Osaka and Kyoto", [weather("Tokyo"), weather("Osaka"), weather("Kyoto")]],
    ["Weather in Paris, France", [weather("Paris")]],
    ["東京の天気は？", [weather("東京")]],
    ["東京の天気を教えてください", [weather("東京")]],
    ["今日の大阪の天気は？", [weather("大阪")]],
    ["東京の今日の天気", [weather("東京")]],
    ["東京は雨？", [weather("東京")]],
    ["東京と大阪の天気を教えて", [weather("東京"), weather("大阪")]],
    ["Tokyo の天気は?", [weather("Tokyo")]],
    // both
    ["Weather in Tokyo and send 50 dollars to Hanako", [weather("Tokyo"), pay(50, "Hanako")]],
    ["Send 50 dollars to Hanako and check the weather in Tokyo", [weather("Tokyo"), pay(50, "Hanako")]],
    ["Send 50 dollars to Hanako, Tokyo weather please", [weather("Tokyo"), pay(50, "Hanako")]],
    ["Check the weather in Tokyo, then pay Bob $5.", [weather("Tokyo"), pay(5, "Bob")]],
    ["東京の天気を調べて、花子さんに50ドル送って", [weather("東京"), pay(50, "花子")]],
    ["東京の天気を調べて花子さんに50ドル送って", [weather("東京"), pay(50, "花子")]],
    ["花子さんに50ドル送金してください。それと東京の天気は？", [weather("東京"), pay(50, "花子")]],
    // location
    ["Where am I?", [locate]],
    ["what is my current location", [locate]],
    ["今どこ？", [locate]],
    ["ここはどこですか", [locate]],
    ["現在地を教えて", [locate]],
    // music
    ["Play track 2", [play(2)]],
    ["change the music to track 1", [play(1)]],
    ["Play the second song", [play(2)]],
    ["switch bgm to 2", [play(2)]],
    ["曲を2に変えて", [play(2)]],
    ["曲を２に変えて", [play(2)]],
    ["トラック1をかけて", [play(1)]],
    ["2番の曲にして", [play(2)]],
    ["BGM", [play(1)]],
    ["BGMを変えて", [play(1)]],
    ["Play track 2 and pay Bob 5 dollars", [play(2), pay(5, "Bob")]],
  ])("%s", async (said, calls) => {
    expect(callsIn(await say([user(said)]))).toEqual(calls);
  });
});

describe("the demo script calls no tool for", () => {
  it.each([
    ["Hello", /^Hello!.*send money/],
    ["Hi there!", /^Hello!/],
    ["こんにちは", /^こんにちは！.*送金/],
    ["What can you do?", /Send 50 dollars to Hanako/],
    ["何ができますか？", /花子さんに50ドル送金してください/],
    ["Thank you!", /welcome/],
    ["ありがとう", /どういたしまして/],
    ["Tell me a story about cats", /“Tell me a story about cats”/],
    ["猫の話をして", /「猫の話をして」/],
    ["yes", /“yes”/],
    ["Don't send 50 dollars to Bob", /“Don't send 50 dollars to Bob”/],
    ["Did you send 50 dollars to Hanako?", /“Did you send/],
    ["花子さんに50ドル送らないで", /「花子さんに50ドル送らないで」/],
    ["もう50ドルを花子さんに送りましたか？", /「もう50ドル/],
    ["Send money to Bob", /How much/],
    ["花子さんに送金して", /いくら/],
    ["Send 5000 yen to Hanako", /US dollars only/],
    ["花子さんに5000円送金してください", /米ドルだけ/],
    ["What's the weather?", /For which place/],
    ["今日の天気は？", /どこの天気/],
    ["Stop the music", /“Stop the music”/],
  ])("%s", async (said, sentence) => {
    const parts = await say([user(said)]);
    expect(callsIn(parts)).toEqual([]);
    expect(textIn(parts)).toMatch(sentence);
  });

  it("a tool the agent does not have, and says so", async () => {
    const parts = await say([user("Send 50 dollars to Hanako and tell me the weather in Tokyo")], ["get_weather"]);
    expect(callsIn(parts)).toEqual([weather("Tokyo")]);
    expect(textIn(parts)).toContain("I have no tool for that here.");
    expect(textIn(await say([user("花子さんに50ドル送って")], []))).toBe("ここではそのためのツールがありません。");
  });

  it("a message that is only a picture", async () => {
    const picture: Content = { role: "user", parts: [{ inlineData: { mimeType: "image/png", data: "AA==" } }] };
    const parts = await say([user("Send 50 dollars to Hanako"), { role: "model", parts: [{ text: "No." }] }, picture]);
    expect(callsIn(parts)).toEqual([]);
    expect(textIn(parts)).toContain("only read text");
  });
});

describe("before a call in the browser the demo script", () => {
  it.each(["Play track 2", "Where am I?", "現在地を教えて", "Play track 2 and pay Bob 5 dollars", "BGMを変えて"])(
    "says nothing: %s (O12)",
    async (said) => {
      const parts = await say([user(said)]);
      expect(callsIn(parts).length).toBeGreaterThan(0);
      expect(textIn(parts)).toBe("");
    },
  );
});

describe("before a payment the demo script", () => {
  it("thinks, says that it needs approval, then calls", async () => {
    const parts = await say([user("Send 50 dollars to Hanako")]);
    expect(parts).toMatchObject([{ thought: true }, { text: expect.any(String) }, { functionCall: pay(50, "Hanako") }]);
    expect(textIn(parts)).toBe("I'll prepare the payment. It needs your approval before anything is sent.");
    expect(textIn(await say([user("花子さんに50ドル送って")]))).toBe(
      "送金を準備します。承認されるまで何も送られません。",
    );
  });
});

describe("after a payment the demo script reports its outcome:", () => {
  const args = { amount: 50, recipient: "花子", currency: "USD" };
  const paid = { success: true, transaction_id: "txn-7", ...args, wallet_balance: 950 };

  it.each([
    ["paid", paid, "Done: I sent $50 to 花子. Your balance is now $950. The transaction is txn-7."],
    [
      "paid, wrapped",
      { result: paid },
      "Done: I sent $50 to 花子. Your balance is now $950. The transaction is txn-7.",
    ],
    ["paid, nothing more known", { success: true }, "Done: I sent $50 to 花子."],
    [
      "denied",
      { error: "The user rejected this call.", status: "denied" },
      "You did not approve the payment of $50 to 花子, so nothing was sent.",
    ],
    [
      "denied with a reason",
      { error: "The user rejected this call.", status: "denied", reason: "too much" },
      "You did not approve the payment of $50 to 花子, so nothing was sent. Your reason: “too much”.",
    ],
    [
      "denied with the reason in the sentence",
      { error: "The user rejected this call; it was not run. Reason: too much", status: "denied" },
      "You did not approve the payment of $50 to 花子, so nothing was sent. Your reason: “too much”.",
    ],
    [
      "denied by ADK itself",
      { error: "This tool call is rejected." },
      "You did not approve the payment of $50 to 花子, so nothing was sent.",
    ],
    [
      "expired",
      { error: "Nobody answered in time.", status: "expired" },
      "The approval for the payment of $50 to 花子 expired before it was answered, so nothing was sent.",
    ],
    [
      "cancelled",
      { error: "The call was cancelled.", status: "cancelled" },
      "The payment of $50 to 花子 was cancelled, so nothing was sent.",
    ],
    [
      "failed",
      { error: "Insufficient balance: 1000 USD", status: "failed" },
      "The payment of $50 to 花子 failed: Insufficient balance: 1000 USD.",
    ],
    ["failed without a status", { error: "Boom" }, "The payment of $50 to 花子 failed: Boom."],
    ["failed by its own account", { success: false, message: "No." }, "The payment of $50 to 花子 failed: No."],
    [
      "interrupted",
      { error: "The call was interrupted.", status: "interrupted" },
      "The payment of $50 to 花子 was interrupted, and I have no result of it.",
    ],
    [
      "still running",
      { error: "The call was started.", status: "executing" },
      "The payment of $50 to 花子 has started, and I do not know its outcome yet.",
    ],
    [
      "unknown",
      { error: "The outcome is not known.", status: "indeterminate" },
      "I cannot tell whether the payment of $50 to 花子 went through. Please check before trying it again.",
    ],
  ])("%s", async (_case, response, sentence) => {
    const contents = [user("Send 50 dollars"), called("process_payment", args), answered("process_payment", response)];
    const parts = await say(contents);
    expect(textIn(parts)).toBe(sentence);
    expect(callsIn(parts)).toEqual([]);
  });

  it.each([
    [paid, "花子さんに50ドルを送金しました。残高は950ドルです。取引番号は txn-7 です。"],
    [
      { error: "x", status: "denied", reason: "高すぎる" },
      "花子さんへの50ドルの送金は承認されなかったため、何も送金していません。理由：「高すぎる」",
    ],
    [{ error: "x", status: "expired" }, "花子さんへの50ドルの送金の承認は期限切れになったため、何も送金していません。"],
    [{ error: "x", status: "cancelled" }, "花子さんへの50ドルの送金は取り消されたため、何も送金していません。"],
    [{ error: "残高不足", status: "failed" }, "花子さんへの50ドルの送金は失敗しました：残高不足。"],
    [
      { error: "x", status: "indeterminate" },
      "花子さんへの50ドルの送金が完了したかどうか分かりません。もう一度試す前に確認してください。",
    ],
  ])("in Japanese %#", async (response, sentence) => {
    const contents = [user("送金して"), called("process_payment", args), answered("process_payment", response)];
    expect(textIn(await say(contents))).toBe(sentence);
  });

  it("reports each of several calls", async () => {
    const both: Content = {
      role: "model",
      parts: [{ functionCall: pay(30, "Alice") }, { functionCall: pay(40, "Bob") }],
    };
    const responses: Content = {
      role: "user",
      parts: [
        { functionResponse: { name: "process_payment", response: { success: true, wallet_balance: 970 } } },
        { functionResponse: { name: "process_payment", response: { error: "No.", status: "denied" } } },
      ],
    };
    expect(textIn(await say([user("Send 30 dollars to Alice and 40 to Bob"), both, responses]))).toBe(
      "Done: I sent $30 to Alice. Your balance is now $970. You did not approve the payment of $40 to Bob, so nothing was sent.",
    );
  });

  it("reports an outcome that comes late, and calls nothing for it", async () => {
    const note = user(
      `[context, not from the user] The earlier call process_payment(${JSON.stringify(args)}) ended as succeeded: ${JSON.stringify(paid)}`,
    );
    const before = [user("Send 50 dollars to Hanako"), { role: "model", parts: [{ text: "Not known yet." }] }, note];
    const parts = await say(before);
    expect(textIn(parts)).toBe("Done: I sent $50 to 花子. Your balance is now $950. The transaction is txn-7.");
    expect(callsIn(parts)).toEqual([]);
    expect(textIn(await say([...before, user("Thank you")]))).toMatch(/^Done: I sent .* You are welcome!/);
  });

  it("reports the calls that a new message cancelled, then responds to the message", async () => {
    const parts = await say([
      user("Send 50 dollars to Hanako"),
      called("process_payment", { ...args, recipient: "Hanako" }),
      answered("process_payment", { error: "The user went on.", status: "cancelled" }),
      user("What's the weather in Tokyo?"),
    ]);
    expect(textIn(parts)).toBe(
      "The payment of $50 to Hanako was cancelled, so nothing was sent. Let me check the weather.",
    );
    expect(callsIn(parts)).toEqual([weather("Tokyo")]);
  });
});

describe("the demo script reports the results of the other tools:", () => {
  it.each([
    [
      "Weather in Tokyo?",
      weather("Tokyo"),
      { condition: "sunny", temperature: 21 },
      "The weather in Tokyo: sunny, 21 °C.",
    ],
    ["東京の天気は？", weather("東京"), { condition: "晴れ", temperature: "21度" }, "東京の天気：晴れ、21度。"],
    ["東京の天気は？", weather("東京"), { condition: "light rain", temperature: 21 }, "東京の天気：小雨、21 °C。"],
    ["Weather in Oslo?", weather("Oslo"), { sky: "grey" }, "The weather in Oslo: location Oslo, sky grey."],
    [
      "Deploy the shop",
      deploy("shop"),
      { status: "deploying", message: "Rolling out." },
      "The deployment of shop has begun. I'll tell you what came of it when it is reported.",
    ],
    ["Deploy the shop", deploy("shop"), { status: "live", environment: "production" }, "Shop is live in production."],
    ["shopをデプロイして", deploy("shop"), { error: "No.", status: "failed" }, "shopのデプロイは失敗しました：No."],
    ["Where am I?", locate, { latitude: 35.7, longitude: 139.7 }, "You are at 35.7, 139.7."],
    ["今どこ？", locate, { latitude: 35.7, longitude: 139.7 }, "現在地は緯度35.7、経度139.7です。"],
    [
      "Where am I?",
      locate,
      { error: "x", status: "denied" },
      "You did not approve sharing your location, so nothing was done.",
    ],
    ["Play track 2", play(2), { track: 2, playing: true }, "Now playing track 2."],
    ["Play track 2", play(2), { track: 2, playing: false }, "Track 2 is chosen, but it is not playing yet."],
    ["曲を2に変えて", play(2), { result: "ok" }, "曲2に変えました。"],
    ["Do it", { name: "other_tool", args: {} }, { answer: 42 }, "other_tool returned answer 42."],
  ])("%s %#", async (said, { name, args }, response, sentence) => {
    expect(textIn(await say([user(said), called(name, args), answered(name, response)]))).toBe(sentence);
  });

  it("plays the other track when none is named", async () => {
    const contents = [user("BGM"), called("change_bgm", { track: 1 }), answered("change_bgm", {}), user("Other music")];
    expect(callsIn(await say(contents))).toEqual([play(2)]);
  });

  it("does not call again when ADK asks it to continue", async () => {
    const nudge = user("Continue processing previous requests as instructed. Exit or provide a summary.");
    const contents = [user("Send 50 dollars to Hanako"), { role: "model", parts: [{ text: "Done." }] }, nudge];
    expect(callsIn(await say(contents))).toEqual([]);
  });
});

describe("the demo's own agent", () => {
  it("calls its tool and reports the result, word by word", async () => {
    const wallet = openSqliteWallet(":memory:");
    const deployments = openSqliteDeployments(":memory:", 0);
    const model = geminiAt({ model: "gemini-2.5-flash", url: gemini.url });
    const agent = createAgent({ model, wallet, deployments });
    const sessionService = new InMemorySessionService();
    const runner = new Runner({ appName: "demo", agent, sessionService });
    const session = await sessionService.createSession({ appName: "demo", userId: "someone" });
    const whole: Part[] = [];
    const streamed: Part[] = [];
    for await (const { partial, content } of runner.runAsync({
      userId: "someone",
      sessionId: session.id,
      newMessage: { role: "user", parts: [{ text: "東京の天気は？" }] },
      runConfig: { streamingMode: StreamingMode.SSE },
    }))
      (partial === true ? streamed : whole).push(...(content?.parts ?? []));
    await wallet.close();
    await deployments.close();
    expect(whole.at(-1)).toEqual({ text: "東京の天気：晴れ、21 °C。" });
    expect(streamed.length).toBeGreaterThan(3);
  });
});
