/** Live connections that fail, and processes that die: the user gets a readable error in time, and nothing is paid twice. */
import { createServer, type Server, type Socket } from "node:net";
import {
  blocked,
  call,
  closeWith,
  drop,
  fail,
  gate,
  goAway,
  pause,
  type Piece,
  text,
} from "adk-stream-protocol/testing";
import { isSettled } from "adk-stream-protocol/protocol";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  expectPaid,
  expectWhole,
  liveRules,
  type LiveStage,
  type LiveStageOptions,
  openLiveStage,
} from "../fixtures/live-stage.ts";
import { chat, owner } from "../fixtures/mortal-process.ts";
import type { Moment } from "../fixtures/mortal-store.ts";
import { patience } from "../fixtures/nodes.ts";
import { storeKinds } from "../fixtures/store-kinds.ts";
import { messageIdOf, type Received, sequence, textOf, userMessage } from "../fixtures/world.ts";

const goesOn = "start toa ss text fs finish [DONE]";
const spoken = "start ss text fs finish [DONE]";

/** Short enough for a person who waits, and long enough for a busy machine. */
const soonMs = 2500 * patience;

async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Nothing within ${soonMs} ms.`)), soonMs);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** The error sentence at the end of the reply. */
function errorOf({ chunks }: Received): string {
  const last = chunks.at(-1);
  expect(last?.type, JSON.stringify(chunks.map(({ type }) => type))).toBe("error");
  const { errorText } = last as { errorText: string };
  expect(errorText).toMatch(/^[A-Z].*[.!?]?$/);
  expect(errorText).not.toMatch(/undefined|\[object|TypeError|at \//);
  return errorText;
}

const yes = async (stage: LiveStage) => stage.answer((await stage.pending()).map(({ id }) => ({ id, approved: true })));
const statesOf = async (stage: LiveStage) => (await stage.rows()).map(({ state }) => state);
const timesTold = (stage: LiveStage, amount: number) =>
  [...stage.responses().map(({ response }) => JSON.stringify(response)), ...stage.textToModel()].filter((said) =>
    said.includes(`{"paid":${amount}}`),
  ).length;
/** How often the model was told an outcome: as a response, or as a note that it replies to. */
const timesNotified = (stage: LiveStage) =>
  stage.responses().length +
  stage.textToModel().filter((said) => said.startsWith("[context, not from the user]")).length;

const endings: Record<string, { piece: Piece; says: RegExp }> = {
  "is lost": { piece: drop(), says: /model|connection/i },
  "is closed with 1011": { piece: closeWith(1011, "Internal error encountered."), says: /1011.*Internal error/ },
  "is closed with 1008": { piece: closeWith(1008, "Policy."), says: /1008.*Policy/ },
  "is closed with 1000": { piece: closeWith(1000), says: /ended the conversation/ },
  "fails with a quota": { piece: fail(429, "Quota exceeded."), says: /Quota exceeded/ },
};

const openWith = (says: Record<string, readonly Piece[]>, options: LiveStageOptions = {}) =>
  openLiveStage({
    rules: [
      liveRules[0]!,
      ...Object.entries(says).map(([words, say]) => ({ when: new RegExp(`^${words}$`), say })),
      ...liveRules,
    ],
    ...options,
  });

describe("a live model that does not end", () => {
  it("is stopped after the maximum number of model calls, and the user is told why", async () => {
    const weather = call("get_weather", { location: "Tokyo" });
    const stage = await openLiveStage({
      rules: [{ when: /^hello$/, say: [text("Hello.")] }, { say: [weather] }],
      bridge: { maxLlmCalls: 3 },
    });
    const reply = await inTime(stage.say("loop"));
    expect(errorOf(reply)).toBe("The model was asked 3 times and came to no end.");
    expect(reply.chunks.filter(({ type }) => type === "tool-input-available")).toHaveLength(3);
    await stage.until(() => stage.gemini.live.open === 0);
    expect(sequence(await inTime(stage.say("hello")))).toBe(spoken);
    await expectWhole(stage);
  });
});

describe("a live connection that ends", () => {
  for (const [name, { piece, says }] of Object.entries(endings)) {
    it(`before the first word, when it ${name}: the user is told why, and the next message works`, async () => {
      const stage = await openWith({ break: [piece] });
      const reply = await inTime(stage.say("break"));
      expect(errorOf(reply)).toMatch(says);
      await stage.until(() => stage.gemini.live.open === 0);
      expect(sequence(await inTime(stage.say("hello")))).toBe(spoken);
      expect(stage.textToModel(stage.gemini.live.sessions[1])).toContain("break");
      await expectWhole(stage);
    });

    it(`in the middle of a sentence, when it ${name}: the text stays, and the user is told why`, async () => {
      const stage = await openWith({ break: [text("I was about to "), piece] });
      const reply = await inTime(stage.say("break"));
      expect(errorOf(reply)).toMatch(says);
      expect(textOf(reply)).toContain("I was");
      await stage.until(() => stage.gemini.live.open === 0);
      expect(sequence(await inTime(stage.say("hello")))).toBe(spoken);
      const messages = await stage.messages();
      expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
      await expectWhole(stage);
    });

    it(`while a question is open and the user writes, when it ${name}: the card stays, and a yes pays once`, async () => {
      const stage = await openWith({ break: [piece] });
      const question = await stage.say("pay");
      errorOf(await inTime(stage.say("break")));
      expect(await statesOf(stage)).toEqual(["pending"]);
      await stage.until(() => stage.gemini.live.open === 0);
      const reply = await inTime(yes(stage));
      expect(messageIdOf(reply)).toBe(messageIdOf(question));
      expect(sequence(reply)).toBe(goesOn);
      expect(textOf(reply)).toContain('Noted: succeeded: {"paid":50}');
      expect(stage.payments).toHaveLength(1);
      expect(stage.responses()).toEqual([]);
      expect(timesNotified(stage)).toBe(1);
      await stage.say("hello");
      expect(timesNotified(stage)).toBe(1);
      await expectWhole(stage);
    });

    it(`after the outcome was sent, when it ${name}: the payment counts, and the next session is told`, async () => {
      const stage = await openLiveStage({
        rules: [{ when: ({ responses }) => responses.length > 0, say: [piece] }, ...liveRules],
      });
      await stage.say("pay");
      const reply = await inTime(yes(stage));
      expect(errorOf(reply)).toMatch(says);
      expect(sequence(reply)).toContain("toa");
      expect(stage.payments).toHaveLength(1);
      await stage.until(() => stage.gemini.live.open === 0);
      expect(sequence(await inTime(stage.say("hello")))).toBe(spoken);
      const second = stage.gemini.live.sessions[1]!;
      expect(stage.textToModel(second).filter((said) => said.includes('{"paid":50}'))).toHaveLength(1);
      expect(stage.responses(second)).toEqual([]);
      expect(await statesOf(stage)).toEqual(["succeeded"]);
      await expectWhole(stage);
    });
  }

  for (const ending of ["drop", 1000, 1008, 1011] as const) {
    const end = (stage: LiveStage) => {
      const session = stage.gemini.live.sessions.at(-1)!;
      if (ending === "drop") session.drop();
      else session.close(ending, "Enough.");
    };

    it(`between two turns (${ending}): the next message works`, async () => {
      const stage = await openLiveStage();
      await stage.say("hello");
      end(stage);
      await stage.until(() => stage.gemini.live.open === 0);
      if (ending === 1000) await stage.until(() => !stage.gemini.live.sessions[0]!.open);
      else await stage.untilDisconnectNoticed();
      expect(sequence(await inTime(stage.say("hello")))).toBe(spoken);
      expect(stage.gemini.live.sessions).toHaveLength(2);
      await expectWhole(stage);
    });

    it(`while a question is open (${ending}), decided before there is a new connection: the new one is told once`, async () => {
      const stage = await openLiveStage();
      await stage.say("pay");
      end(stage);
      await stage.until(() => stage.gemini.live.open === 0);
      if (ending !== 1000) await stage.untilDisconnectNoticed();
      const [row] = await stage.rows();
      expect((await stage.decide(row!.id, true)).outcome).toBe("accepted");
      await stage.untilIdle();
      expect(stage.payments).toHaveLength(1);
      const reply = await inTime(stage.say("hello"));
      expect(sequence(reply)).toBe(spoken);
      await stage.untilIdle();
      expect(stage.responses()).toEqual([]);
      expect(timesNotified(stage)).toBe(1);
      const [session] = stage.gemini.live.sessions.slice(1);
      expect(stage.textToModel(session).filter((said) => said.startsWith("[context"))).toHaveLength(1);
      await stage.say("hello again");
      expect(timesNotified(stage)).toBe(1);
      await expectWhole(stage);
    });

    it(`while a question is open (${ending}), decided after there is a new connection: that one gets a note, no response`, async () => {
      const stage = await openLiveStage();
      await stage.say("pay");
      end(stage);
      await stage.until(() => stage.gemini.live.open === 0);
      if (ending !== 1000) await stage.untilDisconnectNoticed();
      await inTime(stage.say("hello"));
      expect(stage.gemini.live.sessions).toHaveLength(2);
      expect(await statesOf(stage)).toEqual(["pending"]);
      const [row] = await stage.rows();
      await stage.decide(row!.id, true);
      await stage.untilIdle();
      expect(stage.payments).toHaveLength(1);
      expect(stage.responses()).toEqual([]);
      expect(timesNotified(stage)).toBe(1);
      expect(JSON.stringify(await stage.messages())).toContain("Noted: succeeded");
      await expectWhole(stage);
    });
  }

  it("after the outcome of an older call was sent: the messages since then are not lost", async () => {
    const stage = await openLiveStage({
      rules: [{ when: ({ responses }) => responses.length > 0, say: [drop()] }, ...liveRules],
    });
    await stage.say("pay");
    await stage.say("hello, my name is Kim");
    errorOf(await inTime(yes(stage)));
    await stage.until(() => stage.gemini.live.open === 0);
    expect(sequence(await inTime(stage.say("hello")))).toBe(spoken);
    const second = stage.gemini.live.sessions[1]!;
    expect(stage.textToModel(second)).toContain("hello, my name is Kim");
    expect(stage.textToModel(second).some((said) => said.includes('{"paid":50}'))).toBe(true);
    await expectWhole(stage);
  });

  it("while the approved tool runs: the outcome is recorded, and the model is told once", async () => {
    const stage = await openLiveStage();
    const slow = gate();
    stage.setPace(slow.opened);
    await stage.say("pay");
    const reading = yes(stage);
    await stage.until(() => stage.payments.length === 1);
    stage.gemini.live.sessions[0]!.drop();
    await stage.until(() => stage.gemini.live.open === 0);
    slow.open();
    await inTime(reading);
    await stage.untilIdle();
    expect(await statesOf(stage)).toEqual(["succeeded"]);
    await inTime(stage.say("hello"));
    await stage.untilIdle();
    expect(stage.payments).toHaveLength(1);
    expect(timesNotified(stage)).toBeLessThanOrEqual(1);
    const last = stage.gemini.live.sessions.at(-1)!;
    expect(stage.textToModel(last).some((said) => said.includes('{"paid":50}'))).toBe(true);
    await expectWhole(stage);
  });

  it("while an ungated tool runs: the user is told, and the next message works", async () => {
    const stage = await openWith({ go: [call("get_weather", { location: "Tokyo" })] });
    const reading = stage.say("go");
    await stage.until(() => stage.gemini.live.sessions.length === 1 && stage.gemini.requests.length === 1);
    stage.gemini.live.sessions[0]!.drop();
    await inTime(reading);
    await stage.untilIdle();
    expect(sequence(await inTime(stage.say("hello")))).toMatch(/finish \[DONE\]$|error \[DONE\]$/);
    expect(sequence(await inTime(stage.say("hello")))).toBe(spoken);
    await expectWhole(stage);
  });
});

describe("a live model that cannot be reached", () => {
  const dead = new Set<Server>();
  const sockets = new Set<Socket>();
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
    await Promise.all([...dead].map((server) => new Promise((resolve) => server.close(resolve))));
    dead.clear();
  });
  /** A TCP server that accepts connections and sends this text to them. */
  async function listenOnly(says = ""): Promise<{ url: string; sockets: Set<Socket> }> {
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => sockets.delete(socket));
      socket.resume();
      if (says) socket.once("data", () => socket.write(says));
    });
    dead.add(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    return { url: `http://127.0.0.1:${port}`, sockets };
  }
  const brief = { bridge: { live: { connectMs: 300, silenceMs: 400 } } } satisfies LiveStageOptions;

  it("because the key is refused: the user is told the reason, and no connection is left", async () => {
    const stage = await openLiveStage({ ...brief, live: { refuse: { code: 1008, reason: "API key not valid." } } });
    expect(errorOf(await inTime(stage.say("hello")))).toContain("API key not valid.");
    await stage.until(() => stage.gemini.live.open === 0);
    expect((await stage.messages()).map(({ role }) => role)).toEqual(["user", "assistant"]);
    stage.gemini.reset(liveRules, { live: {} });
    expect(sequence(await inTime(stage.say("hello")))).toBe(spoken);
    await expectWhole(stage);
  });

  it("because it closes with 1000 before it is set up", async () => {
    const stage = await openLiveStage({ ...brief, live: { refuse: { code: 1000, reason: "" } } });
    expect(errorOf(await inTime(stage.say("hello")))).toMatch(/model/);
    await stage.until(() => stage.gemini.live.open === 0);
  });

  it("because no server listens at its address", async () => {
    const { url } = await listenOnly();
    await Promise.all([...dead].map((server) => new Promise((resolve) => server.close(resolve))));
    dead.clear();
    const stage = await openLiveStage({ ...brief, url });
    expect(errorOf(await inTime(stage.say("hello")))).toMatch(/cannot be reached|ECONNREFUSED/);
    expect(errorOf(await inTime(stage.say("hello")))).toMatch(/cannot be reached|ECONNREFUSED/);
  });

  it("because it accepts the connection but never completes the handshake", async () => {
    const { url, sockets: taken } = await listenOnly();
    const stage = await openLiveStage({ ...brief, url });
    expect(errorOf(await inTime(stage.say("hello")))).toMatch(/did not answer within 0.3 seconds/);
    await stage.until(() => taken.size === 0);
  });

  it("because the server at its address is not a model", async () => {
    const { url, sockets: taken } = await listenOnly("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
    const stage = await openLiveStage({ ...brief, url });
    expect(errorOf(await inTime(stage.say("hello")))).toMatch(/model/);
    await stage.until(() => taken.size === 0);
  });

  it("because it never confirms the setup", async () => {
    const stage = await openLiveStage({ ...brief, live: { silent: true } });
    expect(errorOf(await inTime(stage.say("hello")))).toMatch(/did not answer within 0.3 seconds/);
    await stage.until(() => stage.gemini.live.open === 0);
    stage.gemini.reset(liveRules, { live: {} });
    expect(sequence(await inTime(stage.say("hello")))).toBe(spoken);
  });

  it("does not stop approved tools: they pay, the user gets the error, and the model is told later", async () => {
    const stage = await openLiveStage(brief);
    await stage.say("pay");
    stage.gemini.live.sessions[0]!.drop();
    await stage.untilDisconnectNoticed();
    stage.gemini.reset(liveRules, { live: { refuse: { code: 1008, reason: "API key not valid." } } });
    const reply = await inTime(yes(stage));
    expect(sequence(reply)).toBe("start toa error [DONE]");
    expect(errorOf(reply)).toContain("API key not valid.");
    expect(stage.payments).toHaveLength(1);
    stage.gemini.reset(liveRules, { live: {} });
    await inTime(stage.say("hello"));
    await stage.untilIdle();
    expect(timesNotified(stage)).toBe(1);
    await expectWhole(stage);
  });

  it("gets the messages that were sent meanwhile", async () => {
    const stage = await openLiveStage({ ...brief, live: { refuse: { code: 1008, reason: "API key not valid." } } });
    errorOf(await inTime(stage.say("hello, my name is Kim")));
    errorOf(await inTime(stage.say("hello, I am thirty")));
    stage.gemini.reset(liveRules, { live: {} });
    expect(sequence(await inTime(stage.say("hello")))).toBe(spoken);
    expect(stage.textToModel()).toEqual(["hello, my name is Kim", "hello, I am thirty", "hello"]);
    await expectWhole(stage);
  });

  it("can be stopped by the user while the connection is being opened", async () => {
    const stage = await openLiveStage({ live: { silent: true }, bridge: { live: { connectMs: 1500 } } });
    const reading = stage.say("hello");
    await stage.until(() => stage.gemini.live.open === 1);
    await stage.stop();
    expect((await inTime(reading)).chunks.at(-1)).toEqual({ type: "abort" });
    await stage.until(() => stage.gemini.live.open === 0);
  });
});

describe("a live model that is silent", () => {
  const brief = { bridge: { live: { connectMs: 300, silenceMs: 300 } } } satisfies LiveStageOptions;

  it("times out, and the next message works", async () => {
    const never = gate();
    const stage = await openWith({ think: [pause(never.opened), text("Late.")] }, brief);
    expect(errorOf(await inTime(stage.say("think")))).toBe("The model has said nothing for 0.3 seconds.");
    await stage.until(() => stage.gemini.live.open === 0);
    expect(sequence(await inTime(stage.say("hello")))).toBe(spoken);
    never.open();
    await expectWhole(stage);
  });

  it("times out also in the middle of a sentence", async () => {
    const never = gate();
    const stage = await openWith({ think: [text("I begin. "), pause(never.opened), text("Late.")] }, brief);
    const reply = await inTime(stage.say("think"));
    expect(textOf(reply)).toContain("I begin.");
    expect(errorOf(reply)).toContain("said nothing");
    expect(sequence(await inTime(stage.say("hello")))).toBe(spoken);
    never.open();
  });

  it("does not time out while its tools run", async () => {
    const stage = await openLiveStage({
      ...brief,
      rules: [{ when: /^go$/, say: [call("process_payment", { amount: 5, recipient: "Slow" })] }, ...liveRules],
    });
    const slow = gate();
    stage.setPace(slow.opened);
    await stage.say("go");
    const reading = yes(stage);
    await stage.until(() => stage.payments.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 500));
    slow.open();
    expect(sequence(await inTime(reading))).toBe(goesOn);
    await expectWhole(stage);
  });
});

describe("a live model that gives an empty response", () => {
  it("to a message: the user is told, and the next message works on the same connection", async () => {
    const stage = await openWith({ secret: [blocked("SAFETY")] });
    errorOf(await inTime(stage.say("secret")));
    expect(sequence(await inTime(stage.say("hello")))).toBe(spoken);
    expect(stage.gemini.live.sessions).toHaveLength(1);
    await expectWhole(stage);
  });

  it("to a message while a question is open", async () => {
    const stage = await openWith({ secret: [blocked("SAFETY")] }, { bridge: { live: { silenceMs: 300 } } });
    await stage.say("pay");
    errorOf(await inTime(stage.say("secret")));
    expect(sequence(await inTime(yes(stage)))).toBe(goesOn);
    expect(stage.payments).toHaveLength(1);
    await expectWhole(stage);
  });

  it("to an outcome: the reply ends with the outcome", async () => {
    const stage = await openLiveStage({
      rules: [{ when: ({ responses }) => responses.length > 0, say: [] }, ...liveRules],
      bridge: { live: { silenceMs: 300 } },
    });
    await stage.say("pay");
    const reply = await inTime(yes(stage));
    expect(sequence(reply)).toBe("start toa finish [DONE]");
    expect(sequence(await inTime(stage.say("hello")))).toBe(spoken);
    await expectWhole(stage);
  });
});

describe("a live model that announces the end of its connection", () => {
  it("between two turns: the connection is closed, and the next message works on a new one", async () => {
    const stage = await openLiveStage();
    await stage.say("hello");
    stage.gemini.live.sessions[0]!.send({ goAway: { timeLeft: "10s" } });
    await stage.until(() => stage.gemini.live.open === 0);
    expect(sequence(await inTime(stage.say("hello")))).toBe(spoken);
    expect(stage.gemini.live.sessions).toHaveLength(2);
    await expectWhole(stage);
  });

  it("in the middle of a reply: the reply ends first, and then the connection is closed", async () => {
    const stage = await openWith({ break: [text("I begin. "), goAway(), text("And I end.")] });
    const reply = await inTime(stage.say("break"));
    expect(sequence(reply)).toBe(spoken);
    expect(textOf(reply)).toBe("I begin. And I end.");
    await stage.until(() => stage.gemini.live.open === 0);
    expect(sequence(await inTime(stage.say("hello")))).toBe(spoken);
    await expectWhole(stage);
  });

  it("while a question is open: the next connection is told the answer", async () => {
    const stage = await openLiveStage();
    await stage.say("pay");
    stage.gemini.live.sessions[0]!.send({ goAway: { timeLeft: "10s" } });
    await stage.until(() => stage.gemini.live.open === 0);
    const reply = await inTime(yes(stage));
    expect(sequence(reply)).toBe(goesOn);
    expect(timesNotified(stage)).toBe(1);
    expect(stage.payments).toHaveLength(1);
    await expectWhole(stage);
  });
});

describe("closing a bridge", () => {
  it("leaves no connection and no timer, in the middle of a reply", async () => {
    const never = gate();
    const stage = await openWith({ think: [text("I begin. "), pause(never.opened)] });
    const reply = await stage.send({ type: "message", message: userMessage("think") });
    await stage.until(() => stage.gemini.requests.length === 1);
    void stage.read(reply).catch(() => undefined);
    await inTime(stage.bridge.close());
    await stage.until(() => stage.gemini.live.open === 0);
    expect(await stage.store.openTurns()).toHaveLength(1);
    never.open();
  });

  it("leaves no connection and no timer, while a question is open", async () => {
    const timers = vi.spyOn(globalThis, "setTimeout");
    const cleared = vi.spyOn(globalThis, "clearTimeout");
    try {
      const stage = await openLiveStage({ bridge: { live: { idleMs: 54_321, silenceMs: 12_345, connectMs: 23_456 } } });
      await stage.say("pay");
      await inTime(stage.bridge.close());
      await stage.until(() => stage.gemini.live.open === 0);
      const ours = timers.mock.calls.flatMap(([, ms], index) =>
        ms === 54_321 || ms === 12_345 || ms === 23_456 ? [timers.mock.results[index]!.value as NodeJS.Timeout] : [],
      );
      expect(ours.length).toBeGreaterThan(0);
      const gone = new Set(cleared.mock.calls.map(([timer]) => timer));
      expect(ours.filter((timer) => !gone.has(timer))).toEqual([]);
    } finally {
      vi.restoreAllMocks();
    }
  });

  it("leaves no connection while one is being opened", async () => {
    const stage = await openLiveStage({ live: { silent: true }, bridge: { live: { connectMs: 1000 } } });
    void stage.say("hello").catch(() => undefined);
    await stage.until(() => stage.gemini.live.open === 1);
    await inTime(stage.bridge.close());
    await stage.until(() => stage.gemini.live.open === 0);
    expect(stage.gemini.live.sessions).toHaveLength(1);
  });

  it("an idle connection closes by itself, unless a client is connected to its chat", async () => {
    const stage = await openLiveStage({ bridge: { live: { idleMs: 60 } } });
    const leave = stage.bridge.attach("local", "chat-1");
    await stage.say("hello");
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(stage.gemini.live.open).toBe(1);
    leave();
    await stage.until(() => stage.gemini.live.open === 0);
    expect(sequence(await inTime(stage.say("hello")))).toBe(spoken);
  });
});

for (const { name: store, options } of storeKinds)
  describe(`a process that dies, on ${store}`, () => {
    it("while a live question is open: the card is there, a yes pays once, and the next session is told once", async () => {
      const stage = await openLiveStage(options());
      const question = await stage.say("pay");
      await stage.crash();
      await stage.until(() => stage.gemini.live.open === 0);
      expect(await stage.pending()).toHaveLength(1);
      const reply = await inTime(yes(stage));
      expect(messageIdOf(reply)).toBe(messageIdOf(question));
      expect(sequence(reply)).toBe(goesOn);
      expect(stage.payments).toHaveLength(1);
      expect(timesNotified(stage)).toBe(1);
      await stage.say("hello");
      expect(timesNotified(stage)).toBe(1);
      await expectWhole(stage);
    });

    it("while a live question is open, decided outside: it pays once without a connection, and the next one is told", async () => {
      const stage = await openLiveStage(options());
      await stage.say("pay");
      await stage.crash();
      const [row] = await stage.rows();
      await stage.decide(row!.id, true);
      await stage.untilIdle();
      expect(stage.payments).toHaveLength(1);
      expect(stage.gemini.requests.filter(({ wire }) => wire === "http")).toEqual([]);
      await inTime(stage.say("hello"));
      expect(timesNotified(stage)).toBe(1);
      await expectWhole(stage);
    });

    it("while a live question is open, decided outside by someone who is connected: the model is told at once", async () => {
      const stage = await openLiveStage(options());
      await stage.say("pay");
      await stage.crash();
      const [row] = await stage.rows();
      const leave = stage.bridge.attach(row!.owner, "chat-1");
      await stage.decide(row!.id, true);
      await stage.untilIdle();
      leave();
      expect(stage.payments).toHaveLength(1);
      expect(timesNotified(stage)).toBe(1);
      await inTime(stage.say("hello"));
      expect(timesNotified(stage)).toBe(1);
      await expectWhole(stage);
    });

    /** The process dies at the nth of these moves of a row. */
    const dieAtMove = (stage: LiveStage, event: string, when: "before" | "after") =>
      stage.dieAt(
        (moment) =>
          moment.when === when && moment.operation === "move" && (moment.args[1] as { event: string }).event === event,
      );

    for (const [moment, event, when, paid] of [
      ["after the yes", "approve", "after", 1],
      ["before the tool is started", "claim", "before", 1],
      ["after the tool ran, before its outcome is recorded", "succeed", "before", 1],
      ["after its outcome is recorded", "succeed", "after", 1],
    ] as const)
      it(`${moment}: there is one payment, and the model is told once`, async () => {
        const stage = await openLiveStage({
          ...options(),
          bridge: { tools: { process_payment: { effect: "queryable", lookup: async () => ({ paid: 50 }) } } },
        });
        await stage.say("pay");
        dieAtMove(stage, event, when);
        await expect(yes(stage)).rejects.toThrow("The process died.");
        await stage.crash();
        await stage.untilIdle();
        expect(await statesOf(stage)).toEqual(["succeeded"]);
        expect(stage.payments).toHaveLength(paid);
        await inTime(stage.say("hello"));
        await stage.untilIdle();
        const last = stage.gemini.live.sessions.at(-1)!;
        expect(stage.textToModel(last).some((said) => said.includes('{"paid":50}'))).toBe(true);
        expect(timesNotified(stage)).toBe(1);
        await stage.say("hello");
        expect(timesNotified(stage)).toBe(1);
        await expectWhole(stage);
      });

    it("after the model was told: the model is not told again", async () => {
      const never = gate();
      const stage = await openLiveStage({
        ...options(),
        rules: [
          { when: ({ responses }) => responses.length > 0, say: [pause(never.opened), text("Late.")] },
          ...liveRules,
        ],
      });
      await stage.say("pay");
      const reading = yes(stage).catch(() => undefined);
      await stage.until(() => stage.responses().length === 1);
      await stage.crash();
      await reading;
      never.open();
      await stage.untilIdle();
      await inTime(stage.say("hello"));
      await stage.untilIdle();
      expect(stage.payments).toHaveLength(1);
      expect(timesNotified(stage)).toBe(1);
      expect(timesTold(stage, 50)).toBe(2);
      await expectWhole(stage);
    });

    it("in the middle of a live reply: the text that was shown stays, and the chat continues", async () => {
      const never = gate();
      const stage = await openWith({ think: [text("I begin. "), pause(never.opened), text("Late.")] }, options());
      const reading = stage.say("think").catch(() => undefined);
      await stage.until(async () => {
        const found = await stage.store.findChat("local", "chat-1", "root_agent");
        const log = found ? await stage.store.read(found.id) : [];
        return log.some((entry) => entry.kind === "chunk" && entry.chunk.type === "text-delta");
      });
      await stage.crash();
      await reading;
      never.open();
      await stage.untilIdle();
      expect(sequence(await inTime(stage.say("hello")))).toBe(spoken);
      await expectWhole(stage);
    });
  });

// ── a process that dies at any write ─────────────────────────────────────────────────────────────────────────────────

const writes: ReadonlySet<string> = new Set([
  "openChat",
  "appendEvent",
  "append",
  "createApproval",
  "move",
  "markTold",
]);

/** Dying before a write is the same as dying after the previous one, except for moves, where a tool may run between. */
const isDistinct = ({ when, operation }: Moment): boolean =>
  writes.has(operation) && (when === "after" || operation === "move");

const answerAll = async (stage: LiveStage, approved = true) =>
  stage.answer((await stage.pending()).map(({ id }) => ({ id, approved })));

const stories: Record<string, (stage: LiveStage) => Promise<unknown>> = {
  "a yes": async (stage) => {
    await stage.say("pay");
    await answerAll(stage);
  },
  "a yes outside the chat, after people went on": async (stage) => {
    await stage.say("pay");
    await stage.say("hello, my name is Kim");
    await stage.decide((await stage.pending())[0]!.id, true);
    await stage.untilIdle();
  },
  "two payments, a no and a yes, one by one": async (stage) => {
    await stage.say("two payments");
    const [first, second] = await stage.pending();
    await stage.answer([{ id: second!.id, approved: false }]);
    await stage.untilIdle();
    await stage.answer([{ id: first!.id, approved: true }]);
  },
  "a free call and a gated one in one message": async (stage) => {
    await stage.say("mixed");
    await stage.untilIdle();
    await answerAll(stage);
  },
  "a live question that is answered by request": async (stage) => {
    await stage.say("pay");
    await stage.answer(
      (await stage.pending()).map(({ id }) => ({ id, approved: true })),
      { live: false },
    );
  },
};

/** Dies at the nth write and finishes the story in another process. Returns false if the story has fewer writes. */
async function dieAt(nth: number, tell: (stage: LiveStage) => Promise<unknown>): Promise<boolean> {
  const stage = await openLiveStage({ bridge: { tools: { process_payment: { effect: "idempotent" } } } });
  let seen = 0;
  let died: Moment | undefined;
  stage.dieAt((moment) => {
    if (!isDistinct(moment)) return false;
    seen += 1;
    if (seen === nth) died = moment;
    return seen === nth;
  });
  try {
    await tell(stage)
      .then(() => stage.untilIdle())
      .catch((error: unknown) => {
        if (!(error instanceof Error && error.message === "The process died.")) throw error;
      });
    if (!died) return false;
    await stage.crash();
    await stage.untilIdle();
    await expectPaid(stage);
    if ((await stage.rows()).length === 0) await stage.say("pay");
    for (let [question] = await stage.pending(); question; [question] = await stage.pending()) {
      await stage.answer([{ id: question.id, approved: true }]);
      await stage.untilIdle();
    }
    await expectPaid(stage);
    await stage.say("hello");
    await stage.untilIdle();
    const { rows, open } = await expectWhole(stage);
    expect(open, "calls without a response").toEqual([]);
    expect(rows.filter(({ state }) => !isSettled(state))).toEqual([]);
    // No message is lost, and the model knows every payment: from this connection, or from the history at its start.
    const last = stage.gemini.live.sessions.at(-1)!;
    const known = [
      ...stage.textToModel(last),
      ...stage.responses(last).map(({ response }) => JSON.stringify(response)),
    ];
    for (const { amount } of stage.payments) expect(known.join("\n")).toContain(`{"paid":${amount}}`);
    const messages = await stage.messages();
    for (const [place, { role, parts }] of messages.entries()) {
      // If the process died before a message had any effect, the user has to send it again, and the chat says so.
      const asksAgain =
        messages[place + 1]?.metadata !== undefined && "error" in (messages[place + 1]!.metadata as object);
      if (role !== "user" || asksAgain) continue;
      for (const part of parts) if (part.type === "text") expect(known, "what the user said").toContain(part.text);
    }
    // The model was notified at most once for each payment.
    const news = stage.textToModel().filter((said) => said.startsWith("[context"));
    expect(news.length + stage.responses().length).toBeLessThanOrEqual(rows.length * 2 + 2);
  } catch (error) {
    const at = died && `${died.when} ${died.operation} ${JSON.stringify(died.args).slice(0, 300)}`;
    throw new Error(`Death number ${nth}, ${at}: ${(error as Error).message}`, { cause: error });
  } finally {
    await stage.close();
  }
  return true;
}

describe("a process that dies at any write of a live story", () => {
  for (const [name, tell] of Object.entries(stories))
    it(`${name}: nothing is paid twice, lost or left open`, { timeout: 60_000 * patience }, async () => {
      let deaths = 0;
      while (await dieAt(deaths + 1, tell)) deaths += 1;
      expect(deaths).toBeGreaterThan(15);
    });
});

describe("a live model that misbehaves", () => {
  const pay = (id: string, amount: number, recipient: string) => ({
    toolCall: { functionCalls: [{ id, name: "process_payment", args: { amount, recipient } }] },
  });

  it("cannot use an id twice to have one call approved and another one run", async () => {
    const stage = await openLiveStage({});
    await stage.say("hello");
    const session = stage.gemini.live.sessions[0]!;
    session.send(pay("same", 1, "Alice"));
    await stage.until(async () => (await stage.pending()).length === 1);
    await stage.untilIdle();
    session.send(pay("same", 999, "Landlord"));
    await stage.until(async () => (await stage.pending()).length === 2);
    await stage.untilIdle();
    const [first, second] = await stage.pending();
    expect([first!.input, second!.input]).toEqual([
      { amount: 1, recipient: "Alice" },
      { amount: 999, recipient: "Landlord" },
    ]);
    expect(first!.toolCallId).not.toBe(second!.toolCallId);
    await stage.decide(first!.id, true);
    await stage.until(() => stage.payments.length > 0);
    expect(stage.payments).toMatchObject([{ amount: 1, recipient: "Alice" }]);
    expect((await stage.pending()).map(({ id }) => id)).toEqual([second!.id]);
  });

  it.each([
    ["a message that is not an object", 7],
    ["a call that is null", { toolCall: { functionCalls: [null] } }],
    ["calls that are not a list", { toolCall: { functionCalls: 7 } }],
    ["a call without a name", { toolCall: { functionCalls: [{ id: "1" }] } }],
    ["a cancellation without a list of ids", { toolCallCancellation: { ids: 5 } }],
    ["a part that is null", { serverContent: { modelTurn: { parts: [null] } } }],
  ])("ends only its own connection with %s", async (_what, message) => {
    const stage = await openLiveStage({});
    await stage.say("hello");
    stage.gemini.live.sessions[0]!.send(message as never);
    await stage.until(() => stage.gemini.live.open === 0);
    expect(textOf(await stage.say("hello"))).toBe("Hello there, friend.");
    expect(stage.gemini.live.sessions).toHaveLength(2);
  });
});

it("a reply about an outcome that a crash cut off keeps its text, and says that it was cut off", async () => {
  const held = gate();
  const stage = await openLiveStage({
    rules: [
      {
        when: ({ responses, fresh }) => !fresh && responses.length > 0,
        say: [text("It is paid, "), pause(held.opened), text("and that is all.")],
      },
      ...liveRules,
    ],
  });
  await stage.say("pay");
  const [question] = await stage.pending();
  stage.answer([{ id: question!.id, approved: true }]).catch(() => undefined);
  const { id } = (await stage.store.findChat(owner, chat, "root_agent"))!;
  await stage.until(async () => JSON.stringify(await stage.store.read(id)).includes("paid, "));
  await stage.crash();
  held.open();
  await stage.untilIdle();
  const shown = JSON.stringify(await stage.messages());
  expect(shown).toContain("It is paid, ");
  expect(shown).toContain("The server stopped in the middle of this reply.");
  expect(stage.payments).toHaveLength(1);
});
