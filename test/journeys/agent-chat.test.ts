/** A chat with its approvals over each of our transports: answers beside the open stream, recorded before they are shown. */
import { gate } from "adk-stream-protocol/testing";
import { memoryStore } from "adk-stream-protocol/stores/memory";
import { describe, expect, it, vi } from "vitest";
import { type AgentPage, fastTimers, openPage, type PageOptions, tabStorage } from "../fixtures/agent-page.ts";
import { openCutProxy } from "../fixtures/cut-proxy.ts";
import { nodeCount } from "../fixtures/nodes.ts";
import { type Ai, majors, partStates, toolParts, wordsOf } from "../fixtures/stock-chat.ts";
import { decide, messagesOf, openSlowWorld, openWorld, type World, type WorldOptions } from "../fixtures/world.ts";

const wires = ["sse", "websocket"] as const;
const cases = majors.flatMap(([name, ai]) => wires.map((over) => [`${over} on ${name}`, ai, over] as const));

const live = { bridge: { live: { model: "gemini-2.5-flash" } } };

async function open(ai: Ai, over: PageOptions["over"], options: WorldOptions = {}) {
  const world = await openWorld({ ...live, ...options });
  return { world, page: openPage(ai, { url: world.server.url, over }) };
}

/** Asks for a payment, and waits for its card. */
async function ask(page: AgentPage, words = "pay"): Promise<string> {
  void page.chat.sendMessage({ text: words });
  await page.shows("asked");
  return page.card()!.approvalId;
}

/** Checks that the page shows what the server has. */
async function expectTruth(page: AgentPage, world: World, ai: Ai): Promise<void> {
  const check = async () => {
    const messages = await page.settled();
    const stored = await messagesOf(world);
    expect(messages.map(({ id }) => id)).toEqual(stored.map(({ id }) => id));
    expect(messages.map(partStates)).toEqual(stored.map(partStates));
    expect(messages.map(wordsOf)).toEqual(stored.map(wordsOf));
    await ai.validateUIMessages({ messages });
  };
  // A turn that another node begins may come between the two readings.
  if (nodeCount > 1) await vi.waitFor(check, { timeout: 20_000 });
  else await check();
}

describe.each(cases)("an approval over %s", (_, ai, over) => {
  it.each([true, false])("takes one request: %s", async (approved) => {
    const { world, page } = await open(ai, over);
    const id = await ask(page);
    expect(page.card()).toMatchObject({ toolName: "process_payment", input: { amount: 50, recipient: "Hanako" } });
    // The card may be known from the ledger a moment before the stream shows it.
    await page.until(() => page.chat.status === "streaming");
    await page.approvals.answer(id, { approved, reason: "so be it" });
    const [part] = toolParts(ai, page.chat.messages[1]!);
    expect(["approval-responded", "output-available", "output-denied"]).toContain(part?.state);
    expect(part?.approval).toMatchObject({ id, approved, reason: "so be it" });
    await page.shows(approved ? "done" : "denied");
    await page.until(() => page.chat.status === "ready");
    expect(page.statuses).toEqual(["submitted", "streaming", "ready"]);
    expect([page.count("POST /stream"), page.count(`POST /approvals/${id}`)]).toEqual([over === "sse" ? 1 : 0, 1]);
    await expectTruth(page, world, ai);
    expect([world.payments.length, page.errors]).toEqual([approved ? 1 : 0, []]);
    expect(page.statuses).toEqual(["submitted", "streaming", "ready"]);
  });

  it("is made once, however often the button is clicked", async () => {
    const { world, page } = await open(ai, over);
    const id = await ask(page);
    const clicks = Array.from({ length: 10 }, () => page.approvals.answer(id, { approved: true }));
    expect(page.card()?.state).toBe("sending");
    // The other button comes too late.
    clicks.push(page.chat.addToolApprovalResponse({ id, approved: false }) as Promise<void>);
    await Promise.all(clicks);
    await page.shows("done");
    await expectTruth(page, world, ai);
    expect([world.payments.length, page.count(`POST /approvals/${id}`)]).toEqual([1, 1]);
  });

  it("shows the decision of another device, and says so if another answer was given here", async () => {
    const { world, page } = await open(ai, over);
    const id = await ask(page);
    page.respondWith((path) => (path === `POST /approvals/${id}` ? Response.error() : undefined));
    const answered = page.approvals.answer(id, { approved: true });
    await decide(world, id, false);
    page.respondWith(undefined);
    await answered;
    await page.until(() => page.chat.status === "ready");
    expect(page.card()).toMatchObject({ state: "denied", decidedElsewhere: true, answer: { approved: true } });
    await expectTruth(page, world, ai);
    expect([world.payments, page.statuses]).toEqual([[], ["submitted", "streaming", "ready"]]);
  });

  it("goes on when only the other device answers", async () => {
    const { world, page } = await open(ai, over);
    const id = await ask(page);
    await decide(world, id, true);
    await page.until(() => page.chat.status === "ready");
    expect(page.card()).toMatchObject({ state: "done" });
    expect(page.card()?.decidedElsewhere).toBeUndefined();
    expect(toolParts(ai, page.chat.messages[1]!)[0]).toMatchObject({
      state: "output-available",
      approval: { id, approved: true },
    });
    await expectTruth(page, world, ai);
    expect(page.statuses).toEqual(["submitted", "streaming", "ready"]);
  });

  it("expires while the computer sleeps, and an answer that comes too late is told so", async () => {
    const { world, page } = await open(ai, over);
    const id = await ask(page);
    world.clock.now += 3_600_000;
    const answered = page.approvals.answer(id, { approved: true });
    await answered;
    await world.bridge.sweep();
    await page.until(() => page.chat.status === "ready");
    expect(page.card()).toMatchObject({ state: "expired" });
    await expectTruth(page, world, ai);
    expect([world.payments, page.errors]).toEqual([[], []]);
  });

  it("stays a yes if its call could not start in time", async () => {
    const mayStart = gate();
    const store = (now: () => number) => {
      const inner = memoryStore({ now });
      const move: typeof inner.move = async (id, change) => {
        if (change.event === "claim") await mayStart.opened;
        return inner.move(id, change);
      };
      return new Proxy(inner, { get: (target, name) => (name === "move" ? move : target[name as keyof typeof inner]) });
    };
    const { world, page } = await open(ai, over, { store });
    const id = await ask(page);
    await page.approvals.answer(id, { approved: true });
    world.clock.now += 3_600_000;
    mayStart.open();
    await page.shows("expired");
    await page.until(() => page.chat.status === "ready");
    const ended = { state: "output-error", approval: { id, approved: true } };
    expect(toolParts(ai, page.chat.messages[1]!)).toMatchObject([ended]);
    await expectTruth(page, world, ai);
    expect(toolParts(ai, page.chat.messages[1]!)).toMatchObject([ended]);
    expect([world.payments, page.errors]).toEqual([[], []]);
  });

  it("answers one of two questions at once, and then the other", async () => {
    const { world, page } = await open(ai, over);
    void page.chat.sendMessage({ text: "two payments" });
    await page.until(() => page.states().join() === "asked,asked");
    const [first, second] = page.approvals.list();
    await page.approvals.answer(first!.approvalId, { approved: true });
    await page.until(() => page.states()[0] === "done");
    expect([page.states()[1], page.chat.status]).toEqual(["asked", "streaming"]);
    await page.approvals.answer(second!.approvalId, { approved: false });
    await page.until(() => page.chat.status === "ready");
    await expectTruth(page, world, ai);
    expect(page.statuses).toEqual(["submitted", "streaming", "ready"]);
    expect(world.payments).toHaveLength(1);
  });

  it("ends with the server's sentence if the server refuses the answer, and can be sent again", async () => {
    const { world, page } = await open(ai, over);
    const id = await ask(page);
    const message = `There is no approval ${id} here.`;
    page.respondWith((path) =>
      path === `POST /approvals/${id}` ? Response.json({ code: "not_found", message }, { status: 404 }) : undefined,
    );
    await expect(page.approvals.answer(id, { approved: true })).rejects.toThrow(message);
    expect(page.card()).toMatchObject({ state: "unsent", problem: message, answer: { approved: true } });
    expect(toolParts(ai, page.chat.messages[1]!)[0]?.state).toBe("approval-requested");
    expect(page.count(`POST /approvals/${id}`)).toBe(1);
    page.respondWith(undefined);
    page.approvals.retry(id);
    await page.shows("done");
    await expectTruth(page, world, ai);
    expect(world.payments).toHaveLength(1);
  });

  it("is not sent for ever: the card says why, and a click goes on with the same key", async () => {
    const { world, page } = await open(ai, over);
    const id = await ask(page);
    page.respondWith((path) => (path.startsWith("POST /approvals/") ? new Response("", { status: 502 }) : undefined));
    await expect(page.approvals.answer(id, { approved: false })).rejects.toThrow("12 times");
    expect([page.card()?.state, page.count(`POST /approvals/${id}`)]).toEqual(["unsent", 12]);
    page.respondWith(undefined);
    page.approvals.retry(id);
    await page.shows("denied");
    await expectTruth(page, world, ai);
  });

  it("leaves the stream that waits when the person writes something else", async () => {
    const { world, page } = await open(ai, over);
    const id = await ask(page);
    await page.chat.sendMessage({ text: "hello" });
    await page.settled();
    const state = over === "sse" ? "cancelled" : "asked";
    await page.until(() => page.approvals.get(id)?.state === state);
    expect(page.statuses.slice(0, 6)).toEqual(["submitted", "streaming", "ready", "submitted", "streaming", "ready"]);
    if (over === "websocket") {
      await page.approvals.answer(id, { approved: true });
      await page.until(() => page.approvals.get(id)?.state === "done");
      expect(world.payments).toHaveLength(1);
    }
    await expectTruth(page, world, ai);
    expect(page.errors).toEqual([]);
  });
});

describe.each(cases)("a page over %s", (_, ai, over) => {
  it("that is loaded again between the click and its acknowledgement sends the answer", async () => {
    const world = await openWorld(live);
    const proxy = await openCutProxy(world.server.url);
    const storage = tabStorage();
    const before = openPage(ai, { url: proxy.url, over, storage });
    const id = await ask(before);
    before.respondWith((path) => (path.startsWith("POST /approvals/") ? Response.error() : undefined));
    void before.approvals.answer(id, { approved: true }).catch(() => undefined);
    expect(before.card()?.state).toBe("sending");
    before.close();
    expect(storage.size()).toBe(1);
    const page = openPage(ai, { url: proxy.url, over, storage });
    await page.shows("done");
    await expectTruth(page, world, ai);
    expect([world.payments.length, storage.size()]).toEqual([1, 0]);
    await proxy.close();
  });

  it("goes on after the answer if the server was restarted while the question was open", async () => {
    const world = await openWorld(live);
    const proxy = await openCutProxy(world.server.url);
    const page = openPage(ai, { url: proxy.url, over });
    const id = await ask(page);
    await world.restart();
    proxy.forwardTo(world.server.url);
    const { connections } = proxy;
    proxy.cut();
    await page.until(() => proxy.connections > connections && page.transport.getState().status === "open");
    await page.approvals.answer(id, { approved: true });
    await page.shows("done");
    // The model says something about it, over a live connection of its own.
    await page.until(() => wordsOf(page.chat.messages.at(-1)!) !== "");
    await expectTruth(page, world, ai);
    expect(world.payments).toHaveLength(1);
    await proxy.close();
  });

  it("shows the open question after a reload, and goes on after the answer", async () => {
    const { world, page: before } = await open(ai, over);
    const id = await ask(before);
    before.close();
    const page = openPage(ai, { url: world.server.url, over });
    await page.shows("asked");
    expect(page.card()).toMatchObject({ approvalId: id, input: { amount: 50, recipient: "Hanako" } });
    await page.approvals.answer(id, { approved: true });
    await page.shows("done");
    await page.until(() => wordsOf(page.chat.messages.at(-1)!).includes("process_payment gave"));
    await expectTruth(page, world, ai);
    expect([world.payments.length, page.count("POST /stream"), page.errors]).toEqual([1, 0, []]);
  });

  it.each([true, false])(
    "that was decided as %s is the same after a reload, while another one waits",
    async (approved) => {
      const { world, page: before } = await open(ai, over);
      void before.chat.sendMessage({ text: "two payments" });
      await before.until(() => before.states().join() === "asked,asked");
      const [first, second] = before.approvals.list();
      await before.approvals.answer(first!.approvalId, { approved, reason: "so be it" });
      await before.until(() => before.states()[0] === (approved ? "done" : "denied"));
      before.close();
      const page = openPage(ai, { url: world.server.url, over });
      await page.until(() => page.states().join() === `${approved ? "done" : "denied"},asked`);
      if (over === "sse") await page.until(() => page.chat.status === "streaming");
      const stored = await messagesOf(world);
      await page.until(() => partStates(page.chat.messages.at(-1)!).join() === partStates(stored.at(-1)!).join());
      const approval = { id: first!.approvalId, approved, reason: "so be it" };
      expect(toolParts(ai, page.chat.messages.at(-1)!)[0]?.approval).toMatchObject(approval);
      await page.approvals.answer(second!.approvalId, { approved: true });
      await page.until(() => page.states()[1] === "done" && page.chat.status === "ready");
      await expectTruth(page, world, ai);
      expect([world.payments.length, page.errors]).toEqual([approved ? 2 : 1, []]);
    },
  );

  it("keeps its decision in a page that is loaded again while the call runs", async () => {
    const { world, started, finish } = await openSlowWorld(live);
    const before = openPage(ai, { url: world.server.url, over });
    const id = await ask(before);
    void before.approvals.answer(id, { approved: true, reason: "so be it" });
    await started;
    before.close();
    const page = openPage(ai, { url: world.server.url, over });
    await page.until(() => page.chat.status === "streaming" && page.states()[0] === "running");
    const decision = () => toolParts(ai, page.chat.messages.at(-1)!)[0]?.approval;
    await page.until(() => decision()?.approved === true);
    expect(decision()).toMatchObject({ id, reason: "so be it" });
    finish();
    await page.shows("done");
    await expectTruth(page, world, ai);
    expect(decision()).toMatchObject({ id, approved: true, reason: "so be it" });
    expect([world.payments.length, page.errors]).toEqual([1, []]);
  });

  it("can be hidden and shown again while a question is open, without an error", async () => {
    const { world, page } = await open(ai, over);
    const id = await ask(page);
    page.approvals.close();
    await page.until(() => page.chat.status === "ready");
    page.approvals.open();
    await page.shows("asked");
    await page.approvals.answer(id, { approved: true });
    await page.shows("done");
    await page.until(() => wordsOf(page.chat.messages.at(-1)!).includes("process_payment gave"));
    await expectTruth(page, world, ai);
    expect([world.payments.length, page.errors, page.chat.error]).toEqual([1, [], undefined]);
  });

  it("goes on when the server was away during the click and is back", async () => {
    const world = await openWorld(live);
    const proxy = await openCutProxy(world.server.url);
    const page = openPage(ai, { url: proxy.url, over, timers: fastTimers });
    const id = await ask(page);
    proxy.refuse(true);
    proxy.cut();
    const answered = page.approvals.answer(id, { approved: true });
    await page.until(() => page.count(`POST /approvals/${id}`) > 2);
    expect(page.card()?.state).toBe("sending");
    proxy.refuse(false);
    await answered;
    await page.until(() => page.chat.status === "ready");
    await expectTruth(page, world, ai);
    expect([world.payments.length, page.statuses, page.errors]).toEqual([1, ["submitted", "streaming", "ready"], []]);
    await proxy.close();
  });

  it("is not late when the server is back: the answer and the stream do not wait for their next attempts", async () => {
    const world = await openWorld(live);
    const proxy = await openCutProxy(world.server.url);
    let isBack = true;
    // Once the server is away, no delay between attempts ever ends. Only the page's regular question does.
    const timers = {
      setTimeout: (callback: () => void, ms: number) =>
        setTimeout(callback, ms === 7777 ? 20 : isBack ? ms / 50 : ms * 1000),
      clearTimeout: (timer: unknown) => clearTimeout(timer as NodeJS.Timeout),
    };
    const page = openPage(ai, { url: proxy.url, over, timers, pollMs: 7777 });
    const id = await ask(page);
    isBack = false;
    proxy.refuse(true);
    proxy.cut();
    const answered = page.approvals.answer(id, { approved: true });
    await page.until(() => page.count(`POST /approvals/${id}`) > 0 && page.approvals.sync.problem !== undefined);
    await page.until(() => page.transport.getState().status === "reconnecting");
    proxy.refuse(false);
    await answered;
    await page.until(() => page.chat.status === "ready");
    await expectTruth(page, world, ai);
    expect([page.statuses, page.errors]).toEqual([["submitted", "streaming", "ready"], []]);
    await proxy.close();
  });

  it("waits again whenever the server was away for longer than the page tries to reach it", async () => {
    const world = await openWorld(live);
    const proxy = await openCutProxy(world.server.url);
    const page = openPage(ai, { url: proxy.url, over, pollMs: 500, giveUpMs: 30 });
    const id = await ask(page);
    for (let times = 0; times < 3; times += 1) {
      await page.until(() => page.transport.getState().status === "open");
      proxy.refuse(true);
      proxy.cut();
      await page.until(() => page.transport.getState().status === "closed" || page.chat.status === "error");
      proxy.refuse(false);
      await page.until(() => page.chat.status !== "error");
      // Over HTTP the page opens its stream again by itself.
      if (over === "websocket") page.transport.reconnect();
    }
    await page.approvals.answer(id, { approved: true });
    await page.shows("done");
    await expectTruth(page, world, ai);
    expect([world.payments.length, page.chat.error]).toEqual([1, undefined]);
    await proxy.close();
  });

  it("shows in a second tab what the first one does", async () => {
    const { world, page: first } = await open(ai, over);
    const id = await ask(first);
    const second = openPage(ai, { url: world.server.url, over });
    await second.shows("asked");
    const clicks = [first.approvals.answer(id, { approved: true }), second.approvals.answer(id, { approved: false })];
    await Promise.all(clicks);
    await first.until(() => ["done", "denied"].includes(first.card()?.state ?? ""));
    await second.shows(first.card()?.state ?? "");
    expect(first.card()?.state).toBe(world.payments.length === 1 ? "done" : "denied");
    await expectTruth(first, world, ai);
    await expectTruth(second, world, ai);
    expect([first.card(), second.card()].filter((card) => card?.decidedElsewhere)).toHaveLength(1);
    await first.chat.sendMessage({ text: "hello" });
    await second.until(() => second.chat.messages.length === 4);
    await expectTruth(second, world, ai);
  });

  it("reads older messages while a question waits", async () => {
    const { world, page: before } = await open(ai, over);
    await before.chat.sendMessage({ text: "hello" });
    await before.chat.sendMessage({ text: "good day" });
    await before.settled();
    const page = openPage(ai, { url: world.server.url, over, pageSize: 2 });
    await page.until(() => page.approvals.sync.hasOlder);
    const id = await ask(page);
    await page.until(() => page.chat.status === "streaming");
    expect(await page.approvals.loadOlder(1)).toBe(true);
    expect(page.chat.messages).toHaveLength(5);
    expect(await page.approvals.loadOlder()).toBe(true);
    expect(page.chat.messages).toHaveLength(6);
    expect(page.approvals.sync.hasOlder).toBe(false);
    expect(page.chat.status).toBe("streaming");
    await page.approvals.answer(id, { approved: true });
    await page.shows("done");
    await expectTruth(page, world, ai);
    expect(page.errors).toEqual([]);
  });

  it("shows a run of words once, wherever the connection was cut", async () => {
    const world = await openWorld(live);
    const proxy = await openCutProxy(world.server.url);
    for (const bytes of [200, 700, 1300, 1900, 2500]) {
      const page = openPage(ai, { url: proxy.url, over, id: `chat-${bytes}` });
      void proxy.cutAfter(bytes);
      void page.chat.sendMessage({ text: "pay" });
      await page.shows("asked");
      await page.approvals.answer(page.card()!.approvalId, { approved: true });
      await page.shows("done");
      const messages = await page.settled();
      expect(messages.map(wordsOf), `cut after ${bytes}`).toEqual([
        "pay",
        'process_payment gave {"success":true,"paid":50,"recipient":"Hanako"}.',
      ]);
      page.close();
    }
    expect(world.payments).toHaveLength(5);
    await proxy.close();
  });
});
