/** Messages that the server does not have stay on the page, in their place, until the person does something about them. */
import { gate, pause, text as saying } from "adk-stream-protocol/testing";
import { describe, expect, it } from "vitest";
import { type AgentPage, openPage } from "../fixtures/agent-page.ts";
import { openCutProxy } from "../fixtures/cut-proxy.ts";
import { majors } from "../fixtures/stock-chat.ts";
import { messagesOf, openWorld } from "../fixtures/world.ts";

const wires = ["sse", "websocket"] as const;
const cases = majors.flatMap(([name, ai]) => wires.map((over) => [`${over} on ${name}`, ai, over] as const));

const text = (words: string) => ({ type: "text" as const, text: words });
/** The server accepts at most 20 files of a message. */
const files = Array.from({ length: 21 }, () => ({
  type: "file" as const,
  mediaType: "text/plain",
  url: "data:text/plain,hello",
}));

/** Sends a message that the server takes, and waits for the reply. */
async function say(page: AgentPage, id: string): Promise<void> {
  await page.chat.sendMessage({ id, parts: [text("hello")] });
  await page.settled();
}

/** Sends a message that the server refuses. */
async function sayTooMuch(page: AgentPage, id: string): Promise<void> {
  await page.chat.sendMessage({ id, parts: [text("look at these"), ...files] });
  expect(page.chat.status).toBe("error");
}

/** The ids of user messages, and `reply` for each reply. */
const shown = ({ chat }: AgentPage) => chat.messages.map(({ id, role }) => (role === "user" ? id : "reply"));

describe.each(cases)("a message that the server does not have, over %s", (_, ai, over) => {
  it("stays where it is when the person goes on after a refusal", async () => {
    const world = await openWorld();
    const page = openPage(ai, { url: world.server.url, over });
    await sayTooMuch(page, "no-1");
    await sayTooMuch(page, "no-2");
    await say(page, "yes-1");
    expect(shown(page)).toEqual(["no-1", "no-2", "yes-1", "reply"]);
    await sayTooMuch(page, "no-3");
    await say(page, "yes-2");
    await page.approvals.refresh();
    expect(shown(page)).toEqual(["no-1", "no-2", "yes-1", "reply", "no-3", "yes-2", "reply"]);
    expect(page.chat.messages[4]!.parts).toHaveLength(22);
    expect((await messagesOf(world)).filter(({ role }) => role === "user").map(({ id }) => id)).toEqual([
      "yes-1",
      "yes-2",
    ]);
  });

  it("stays when the chat goes on in another tab, also if that reply is read here", async () => {
    const world = await openWorld();
    const page = openPage(ai, { url: world.server.url, over });
    await say(page, "yes-1");
    await sayTooMuch(page, "no-1");
    const other = openPage(ai, { url: world.server.url, over });
    await other.until(() => other.chat.messages.length === 2);
    void other.chat.sendMessage({ id: "pay", parts: [text("pay")] });
    await other.shows("asked");
    await page.until(() => page.states().join() === "asked" && shown(page).includes("no-1"));
    await other.approvals.answer(other.card()!.approvalId, { approved: true });
    await page.shows("done");
    await page.settled();
    expect(
      shown(page)
        .filter((id) => id !== "reply")
        .toSorted(),
    ).toEqual(["no-1", "pay", "yes-1"]);
    await say(page, "yes-2");
    expect(
      shown(page)
        .filter((id) => id !== "reply")
        .toSorted(),
    ).toEqual(["no-1", "pay", "yes-1", "yes-2"]);
    expect(world.payments).toHaveLength(1);
  });

  it("stays when the server could not be reached, and comes back", async () => {
    const world = await openWorld();
    const proxy = await openCutProxy(world.server.url);
    const page = openPage(ai, { url: proxy.url, over, giveUpMs: 30 });
    await say(page, "yes-1");
    proxy.refuse(true);
    proxy.cut();
    await page.chat.sendMessage({ id: "no-1", parts: [text("hello?")] });
    expect(page.chat.status).toBe("error");
    proxy.refuse(false);
    await say(page, "yes-2");
    await page.approvals.refresh();
    expect(shown(page)).toEqual(["yes-1", "reply", "no-1", "yes-2", "reply"]);
    await proxy.close();
  });

  it("stays when it was stopped before the server could be reached", async () => {
    const world = await openWorld();
    const proxy = await openCutProxy(world.server.url);
    const page = openPage(ai, { url: proxy.url, over });
    await say(page, "yes-1");
    proxy.refuse(true);
    proxy.cut();
    void page.chat.sendMessage({ id: "no-1", parts: [text("hello?")] });
    await page.until(() => page.chat.status === "submitted");
    await page.chat.stop();
    await page.until(() => page.chat.status === "ready");
    await page.until(() => page.approvals.sync.unsent.includes("no-1"));
    proxy.refuse(false);
    await page.approvals.refresh();
    expect(shown(page)).toEqual(["yes-1", "reply", "no-1"]);
    await page.approvals.resend("no-1");
    await page.settled();
    expect([shown(page), page.approvals.sync.unsent]).toEqual([["yes-1", "reply", "no-1", "reply"], []]);
    await proxy.close();
  });

  it("is not a message that was stopped when the server had it", async () => {
    const held = gate();
    const world = await openWorld({ rules: [{ say: [pause(held.opened), saying("Hello.")] }] });
    const page = openPage(ai, { url: world.server.url, over });
    void page.chat.sendMessage({ id: "yes-1", parts: [text("hello")] });
    await world.gemini.waitForRequest(1);
    await page.chat.stop();
    await page.until(() => page.chat.status === "ready");
    await page.settled();
    await page.approvals.refresh();
    expect([shown(page)[0], page.approvals.sync.unsent]).toEqual(["yes-1", []]);
    held.open();
  });

  it("is not a message that was withdrawn: that one leaves the page", async () => {
    const world = await openWorld();
    const page = openPage(ai, { url: world.server.url, over });
    await say(page, "yes-1");
    await sayTooMuch(page, "no-1");
    await say(page, "yes-2");
    await sayTooMuch(page, "no-2");
    const other = openPage(ai, { url: world.server.url, over });
    await other.until(() => other.chat.messages.length === 4);
    await other.chat.sendMessage({ messageId: "yes-2", text: "hi" });
    await other.until(() => other.chat.messages.length === 4);
    await other.chat.sendMessage({ messageId: "yes-1", text: "hi" });
    await page.until(() => page.chat.messages.length === 4);
    await page.settled();
    expect(shown(page).toSorted()).toEqual(["no-1", "no-2", "reply", "yes-1"]);
  });

  it("has its place among older messages that are read later", async () => {
    const world = await openWorld();
    const page = openPage(ai, { url: world.server.url, over });
    for (const id of ["yes-1", "yes-2", "yes-3"]) await say(page, id);
    const next = openPage(ai, { url: world.server.url, over, pageSize: 2 });
    await next.until(() => next.chat.messages.length === 2);
    await sayTooMuch(next, "no-1");
    await say(next, "yes-4");
    while (next.approvals.sync.hasOlder) await next.approvals.loadOlder();
    await next.approvals.refresh();
    const sent = (...ids: string[]) => ids.flatMap((id) => [id, "reply"]);
    expect(shown(next)).toEqual([...sent("yes-1", "yes-2", "yes-3"), "no-1", ...sent("yes-4")]);
  });

  it("is named, and is sent again as the last one when the person wants it", async () => {
    const world = await openWorld();
    const proxy = await openCutProxy(world.server.url);
    const page = openPage(ai, { url: proxy.url, over, giveUpMs: 30 });
    await say(page, "yes-1");
    proxy.refuse(true);
    proxy.cut();
    await page.chat.sendMessage({ id: "no-1", parts: [text("hello?")] });
    await page.until(() => page.approvals.sync.unsent.length === 1);
    proxy.refuse(false);
    await say(page, "yes-2");
    expect(page.approvals.sync.unsent).toEqual(["no-1"]);
    await page.approvals.resend("no-1");
    await page.settled();
    expect(shown(page)).toEqual(["yes-1", "reply", "yes-2", "reply", "no-1", "reply"]);
    expect(page.approvals.sync.unsent).toEqual([]);
    expect((await messagesOf(world)).map(({ id }) => id)).toEqual(page.chat.messages.map(({ id }) => id));
    await page.approvals.resend("no-1");
    expect(await messagesOf(world)).toHaveLength(6);
    await proxy.close();
  });

  it("leaves the page when the person discards it", async () => {
    const world = await openWorld();
    const page = openPage(ai, { url: world.server.url, over });
    await sayTooMuch(page, "no-1");
    await say(page, "yes-1");
    await sayTooMuch(page, "no-2");
    await page.until(() => page.approvals.sync.unsent.length === 2);
    for (const id of ["no-1", "no-2", "yes-1"]) page.approvals.discard(id);
    await page.settled();
    expect([page.chat.status, shown(page), page.approvals.sync.unsent]).toEqual(["ready", ["yes-1", "reply"], []]);
  });
});

const firstWords = ({ parts }: AgentPage["chat"]["messages"][number]) => (parts[0] as { text?: string }).text;
const wordsOf = ({ chat }: AgentPage) => chat.messages.map(firstWords);

describe.each(cases)("an edit that could not be sent, over %s", (_, ai, over) => {
  /** A chat with two replies, and an edit of the first message that did not get to the server. */
  async function withLostEdit() {
    const world = await openWorld();
    const proxy = await openCutProxy(world.server.url);
    const page = openPage(ai, { url: proxy.url, over, giveUpMs: 30 });
    await say(page, "yes-1");
    await say(page, "yes-2");
    proxy.refuse(true);
    proxy.cut();
    await page.chat.sendMessage({ messageId: "yes-1", parts: [text("dear")] });
    await page.until(() => page.approvals.sync.unsent.length === 1);
    proxy.refuse(false);
    await page.settled();
    return { world, page, proxy };
  }

  it("stays in its place, with what follows it at the server", async () => {
    const { world, page, proxy } = await withLostEdit();
    await page.until(() => page.chat.messages.length === 4);
    expect([shown(page), wordsOf(page)[0]]).toEqual([["yes-1", "reply", "yes-2", "reply"], "dear"]);
    const other = openPage(ai, { url: world.server.url, over });
    await other.until(() => other.chat.messages.length === 4);
    await say(other, "yes-3");
    await page.until(() => page.chat.messages.length === 6);
    expect([wordsOf(page)[0], wordsOf(other)[0], page.approvals.sync.unsent]).toEqual(["dear", "hello", ["yes-1"]]);
    await proxy.close();
  });

  it("is sent again as an edit", async () => {
    const { world, page, proxy } = await withLostEdit();
    await page.approvals.resend("yes-1");
    await page.settled();
    expect([shown(page), wordsOf(page)[0], page.approvals.sync.unsent]).toEqual([["yes-1", "reply"], "dear", []]);
    expect(await messagesOf(world)).toMatchObject([{ parts: [{ text: "dear" }] }, { role: "assistant" }]);
    await proxy.close();
  });

  it("is taken back when the person discards it", async () => {
    const { page, proxy } = await withLostEdit();
    page.approvals.discard("yes-1");
    await page.until(() => wordsOf(page)[0] === "hello");
    await page.settled();
    expect([shown(page), page.approvals.sync.unsent]).toEqual([["yes-1", "reply", "yes-2", "reply"], []]);
    await proxy.close();
  });

  it("stays also if the page had not read the message back, because its question still waits", async () => {
    const world = await openWorld();
    const proxy = await openCutProxy(world.server.url);
    const page = openPage(ai, { url: proxy.url, over, giveUpMs: 30 });
    void page.chat.sendMessage({ id: "yes-1", parts: [text("pay")] });
    await page.shows("asked");
    proxy.refuse(true);
    proxy.cut();
    await page.chat.sendMessage({ messageId: "yes-1", parts: [text("pay less")] });
    await page.until(() => page.approvals.sync.unsent.length === 1);
    proxy.refuse(false);
    await page.until(() => page.chat.messages.length === 2);
    await page.approvals.refresh();
    expect([wordsOf(page)[0], page.approvals.sync.unsent]).toEqual(["pay less", ["yes-1"]]);
    void page.approvals.resend("yes-1");
    await expect.poll(async () => (await messagesOf(world)).map(firstWords)[0]).toBe("pay less");
    await page.until(() => page.approvals.sync.unsent.length === 0);
    await proxy.close();
  });
});
