/**
 * Every story in a real browser, on both majors of AI SDK and over both transports: with our chat and card, and with stock
 * `useChat`. The four pages of a major tell each story at the same time.
 */
import type { UIMessage } from "ai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildPage } from "../fixtures/build-page.ts";
import { openStoryWorld, type StoryWorld } from "../fixtures/chat-stories/story-world.ts";
import { openTab, type Tab } from "../fixtures/chat-stories/tab.ts";
import { sharedBrowser } from "../fixtures/chromium.ts";
import { majors, partStates, wordsOf } from "../fixtures/stock-chat.ts";
import { messagesOf, quiet } from "../fixtures/world.ts";

/** What a story has done, to be compared with the requests of the page. */
interface Told {
  /** How often the person sent, edited or asked again. */
  sent?: number;
  /** How often AI SDK itself sent answers or results. Ours never does. */
  automatic?: number;
  reloads?: number;
  /** The page also shows a turn that no request of it caused. */
  hasOtherTurns?: boolean;
}

/** The parts that a person sees. AI SDK leaves a text that was stopped in the state `streaming`. */
function partsOf(message: UIMessage): string[] {
  return partStates(message).flatMap((part) =>
    part === "data-approval" ? [] : part.replace("text:streaming", "text:done"),
  );
}

describe.each(majors)("the stories on %s", (major, ai) => {
  let world: StoryWorld;
  let tabs: Tab[];
  let count = 0;

  beforeAll(async () => {
    const [fallback, browser] = await Promise.all([buildPage("chat-stories", {}, major), sharedBrowser()]);
    world = await openStoryWorld(fallback);
    const context = await browser.newContext({ locale: "en-GB", viewport: { width: 900, height: 900 } });
    tabs = await Promise.all(
      (["ours", "stock"] as const).flatMap((kind) =>
        (["sse", "websocket"] as const).map((wire) => openTab(context, `${world.server.url}/`, kind, wire)),
      ),
    );
  });
  afterAll(async () => {
    world.goOn();
    await tabs[0]?.page.context().close();
    await world.close();
  });
  /** Tells a story in every tab, in a new chat each, and compares the page with the server. */
  async function expectStory(tell: (tab: Tab, payee: string) => Promise<Told>): Promise<void> {
    count += 1;
    const told = async (tab: Tab) => {
      await tab.show(`${tab.kind}-${tab.wire}-${count}`);
      await expectTruth(tab, await tell(tab, tab.id));
    };
    await Promise.all(
      tabs.map((tab) =>
        told(tab).catch((error: unknown) => {
          throw new Error(`${tab.form}: ${String(error)}`, { cause: error });
        }),
      ),
    );
    expect(tabs.flatMap(({ problems }) => problems.splice(0))).toEqual([]);
  }

  async function expectTruth(tab: Tab, { sent = 1, automatic = 0, reloads = 0, hasOtherTurns }: Told): Promise<void> {
    await quiet(world, tab.id);
    const view = (messages: UIMessage[]) => messages.map((message) => [message.id, partsOf(message), wordsOf(message)]);
    const stored = view(await messagesOf(world, tab.id));
    await expect.poll(async () => view(await tab.messages())).toEqual(stored);
    await ai.validateUIMessages({ messages: await tab.messages() });
    const all = sent + (tab.kind === "ours" ? 0 : automatic);
    const { requests } = tab;
    const made = (what: string) => requests.filter((request) => request === what).length;
    expect(made("POST /stream")).toBe(tab.wire === "sse" ? all : 0);
    expect(made("WS /live")).toBeLessThanOrEqual(tab.wire === "sse" ? 0 : 1 + reloads);
    if (reloads > 0 || hasOtherTurns) return;
    const statuses = (await tab.statuses()).filter((status) => status !== "ready");
    expect(statuses).toEqual(Array.from({ length: all }, () => ["submitted", "streaming"]).flat());
  }

  it("text and a free tool", async () => {
    await expectStory(async (tab) => {
      await tab.say("hello");
      await tab.ends("You said hello.");
      await tab.say("weather");
      await tab.ends('get_weather gave {"location":"Tokyo","temperature":21} End.');
      return { sent: 2 };
    });
  });

  it("yes", () =>
    expectStory(async (tab, payee) => {
      await tab.say(`pay ${payee}`);
      await tab.shows("asked", "approval-requested");
      expect(world.paidTo(payee)).toBe(0);
      await tab.approve();
      await tab.shows("done", "output-available");
      await tab.ends("End.");
      expect(world.paidTo(payee)).toBe(1);
      return { automatic: 1 };
    }));

  it("no, with a reason", () =>
    expectStory(async (tab, payee) => {
      await tab.say(`pay ${payee}`);
      await tab.shows("asked", "approval-requested");
      await tab.deny(0, "not her");
      await tab.shows("denied", "output-denied");
      await tab.ends("End.");
      expect(wordsOf((await tab.messages())[1] ?? { id: "", role: "user", parts: [] })).toContain("not her");
      expect(world.paidTo(payee)).toBe(0);
      return { automatic: 1 };
    }));

  it("two cards", () =>
    expectStory(async (tab, payee) => {
      await tab.say(`two ${payee}`);
      await tab.shows("asked", "approval-requested", 1);
      await tab.approve(0);
      await tab.shows("done", "approval-responded", 0);
      await tab.deny(1, "");
      await tab.shows("denied", "output-denied", 1);
      await tab.ends("End.");
      expect([world.paidTo(payee), world.paidTo(`${payee}-b`)]).toEqual([1, 0]);
      return { automatic: 1 };
    }));

  it("one card after the other", () =>
    expectStory(async (tab, payee) => {
      await tab.say(`chain ${payee}`);
      await tab.approve(0);
      await tab.shows("asked", "approval-requested", 1);
      await tab.approve(1);
      await tab.ends("End.");
      expect([world.paidTo(`${payee}-first`), world.paidTo(`${payee}-second`)]).toEqual([1, 1]);
      return { automatic: 2 };
    }));

  it("a free browser tool", () =>
    expectStory(async (tab) => {
      await tab.say("music");
      await tab.ends('change_bgm gave {"playing":2} End.');
      expect(await tab.toolCalls()).toEqual(["change_bgm"]);
      return { automatic: 1 };
    }));

  it("a gated browser tool", () =>
    expectStory(async (tab) => {
      await tab.say("where");
      await tab.shows("asked", "approval-requested");
      expect(await tab.toolCalls()).toEqual([]);
      await tab.approve();
      await tab.ends('get_location gave {"latitude":35} End.');
      expect(await tab.toolCalls()).toEqual(["get_location"]);
      return { automatic: 2 };
    }));

  it("a long-running tool and its report", () =>
    expectStory(async (tab, payee) => {
      await tab.say(`deploy ${payee}`);
      await tab.approve();
      await tab.shows("waiting", "approval-responded");
      await expect.poll(() => world.report(payee)).toBe(200);
      if (tab.kind === "stock") {
        // Stock `useChat` does not know that the chat goes on without it.
        await quiet(world, tab.id);
        await tab.reload();
      }
      await tab.ends("End.");
      await tab.shows("done", "output-available");
      return { automatic: 1, reloads: tab.kind === "stock" ? 1 : 0 };
    }));

  it("text while a card waits", () =>
    expectStory(async (tab, payee) => {
      await tab.say(`pay ${payee}`);
      await tab.shows("asked", "approval-requested");
      await tab.say("hello");
      await tab.ends("You said hello.");
      if (tab.wire === "sse") {
        // Over HTTP a new message cancels the question.
        if (tab.kind === "stock") await tab.reload();
        await tab.shows("cancelled", "output-denied");
        expect(world.paidTo(payee)).toBe(0);
        return { sent: 2, reloads: tab.kind === "stock" ? 1 : 0, hasOtherTurns: true };
      }
      await tab.approve();
      await tab.shows("done", "output-available");
      expect(world.paidTo(payee)).toBe(1);
      return { sent: 2, automatic: 1, hasOtherTurns: true };
    }));

  it("an edit", () =>
    expectStory(async (tab) => {
      await tab.say("one");
      await tab.ends("You said one.");
      await tab.say("more");
      await tab.ends("You said more.");
      const [first] = await tab.messages();
      await tab.edit(first?.id ?? "", "three");
      await tab.ends("You said three.");
      expect(await tab.messages()).toHaveLength(2);
      return { sent: 3 };
    }));

  it("another reply", () =>
    expectStory(async (tab) => {
      await tab.say("hello");
      await tab.ends("You said hello.");
      const [, before] = await tab.messages();
      await tab.again();
      await expect.poll(async () => (await tab.messages())[1]?.id ?? before?.id).not.toBe(before?.id);
      await tab.ends("You said hello.");
      expect(await tab.messages()).toHaveLength(2);
      return { sent: 2 };
    }));

  it("stop", async () => {
    await expectStory(async (tab) => {
      await tab.say("count");
      await tab.page.getByText("one two").waitFor();
      await tab.stop();
      await tab.ends("one two ");
      await tab.say("hello");
      await tab.ends("You said hello.");
      return { sent: 2 };
    });
  });

  it("a reload while a card waits", () =>
    expectStory(async (tab, payee) => {
      await tab.say(`pay ${payee}`);
      await tab.shows("asked", "approval-requested");
      await tab.reload();
      await tab.shows("asked", "approval-requested");
      await tab.approve();
      await tab.shows("done", "output-available");
      await tab.ends("End.");
      expect(world.paidTo(payee)).toBe(1);
      return { automatic: 1, reloads: 1 };
    }));
});
