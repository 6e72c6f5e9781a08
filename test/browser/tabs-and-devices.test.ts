/** One chat in two tabs and on another device: every card says what the server has recorded, whoever answered. */
import type { BrowserContext } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildPage } from "../fixtures/build-page.ts";
import { openStoryWorld, type StoryWorld } from "../fixtures/chat-stories/story-world.ts";
import { openTab, type Tab } from "../fixtures/chat-stories/tab.ts";
import { sharedBrowser } from "../fixtures/chromium.ts";
import { majors, partStates, wordsOf } from "../fixtures/stock-chat.ts";
import { get, messagesOf, quiet } from "../fixtures/world.ts";

interface Place {
  /** Two tabs of one browser. */
  first: Tab;
  second: Tab;
  /** A tab of another browser. */
  device: Tab;
  chat: string;
}

describe.each(majors)("one chat in several places, on %s", (major, ai) => {
  let world: StoryWorld;
  let contexts: BrowserContext[];
  let places: Place[];
  let count = 0;

  beforeAll(async () => {
    const [fallback, browser] = await Promise.all([buildPage("chat-stories", {}, major), sharedBrowser()]);
    world = await openStoryWorld(fallback);
    const viewport = { width: 900, height: 900 };
    contexts = await Promise.all([1, 2].map(() => browser.newContext({ locale: "en-GB", viewport })));
    const [one, other] = contexts as [BrowserContext, BrowserContext];
    const open = (context: BrowserContext, wire: Tab["wire"]) => openTab(context, `${world.server.url}/`, "ours", wire);
    places = await Promise.all(
      (["sse", "websocket"] as const).map(async (wire) => {
        const [first, second, device] = await Promise.all([open(one, wire), open(one, wire), open(other, wire)]);
        return { first, second, device, chat: "" };
      }),
    );
  });
  afterAll(async () => {
    await Promise.all(contexts.map((context) => context.close()));
    await world.close();
  });
  const tabsOf = ({ first, second, device }: Place) => [first, second, device];

  /** Asks for a payment in the first tab, over each transport, and waits for its card everywhere. */
  async function expectStory(tell: (place: Place) => Promise<void>): Promise<void> {
    count += 1;
    await Promise.all(
      places.map(async (place) => {
        place.chat = `${place.first.wire}-${count}`;
        const tabs = tabsOf(place);
        await Promise.all(tabs.map((tab) => tab.show(place.chat)));
        await place.first.say(`pay ${place.chat}`);
        await Promise.all(tabs.map((tab) => tab.shows("asked", "")));
        await tell(place);
        await expectTruth(place);
      }),
    );
    expect(places.flatMap((place) => tabsOf(place).flatMap(({ problems }) => problems.splice(0)))).toEqual([]);
  }

  /** Checks that every place shows what the server has. */
  async function expectTruth({ chat, ...place }: Place): Promise<void> {
    await quiet(world, chat);
    const view = (messages: Awaited<ReturnType<Tab["messages"]>>) =>
      messages.map((message) => [message.id, wordsOf(message), partStates(message)]);
    const stored = view(await messagesOf(world, chat));
    for (const tab of tabsOf({ chat, ...place })) {
      await expect.poll(async () => view(await tab.messages())).toEqual(stored);
      await ai.validateUIMessages({ messages: await tab.messages() });
    }
  }

  /** Clicks a button when it accepts clicks in every place, at the same moment as the others. Returns whether it was there. */
  async function clickTogether(...clicks: [Tab, name: "Approve" | "Deny"][]): Promise<boolean[]> {
    const button = ([tab, name]: [Tab, string]) => tab.cards().getByRole("button", { name: new RegExp(`^${name}`) });
    await Promise.all(clicks.map((click) => button(click).click({ trial: true })));
    return Promise.all(
      clicks.map(([{ page }, name]) =>
        page.evaluate((part) => {
          const found = document.querySelector<HTMLElement>(`article [data-part=${part}]`);
          found?.click();
          return found !== null;
        }, name.toLowerCase()),
      ),
    );
  }

  /** Waits until a click has reached the server, and what follows from it is over. */
  async function decided({ chat, ...place }: Place): Promise<void> {
    const waiting = async () => (await get(world, `/approvals?chat=${chat}&state=pending`)).body;
    await expect
      .poll(waiting)
      .toMatchObject({ approvals: [] })
      .catch(async (error: unknown) => {
        const seen = tabsOf({ chat, ...place }).map(async (tab) => [await tab.page.innerText("body"), tab.requests]);
        throw new Error(`No answer has come: ${JSON.stringify(await Promise.all(seen))}`, { cause: error });
      });
    await quiet(world, chat);
  }

  const saysElsewhere = async (tab: Tab) => (await tab.cards().first().innerText()).includes("on another device");

  it("Approve in one tab and Deny on another device at the same time", () =>
    expectStory(async (place) => {
      const { first, device, chat } = place;
      const clicked = await clickTogether([first, "Approve"], [device, "Deny"]);
      await decided(place);
      const isPaid = world.paidTo(chat) === 1;
      await Promise.all(tabsOf(place).map((tab) => tab.shows(isPaid ? "done" : "denied", "")));
      const [winner, loser] = isPaid ? [first, device] : [device, first];
      // A card that was decided before the click has no button any more.
      if (clicked.every(Boolean)) await expect.poll(() => saysElsewhere(loser)).toBe(true);
      expect(await saysElsewhere(winner)).toBe(false);
    }));

  it("Approve in one tab and Deny in the other at the same time", () =>
    expectStory(async (place) => {
      const { first, second, chat } = place;
      await clickTogether([second, "Approve"], [first, "Deny"]);
      await decided(place);
      expect(world.paidTo(chat)).toBeLessThanOrEqual(1);
      const state = world.paidTo(chat) === 1 ? "done" : "denied";
      await Promise.all(tabsOf(place).map((tab) => tab.shows(state, "")));
    }));

  it("Approve clicked ten times fast", () =>
    expectStory(async (place) => {
      const { first, chat } = place;
      const button = first.cards().getByRole("button", { name: /^Approve/ });
      await button.click({ clickCount: 10 });
      await Promise.all(tabsOf(place).map((tab) => tab.shows("done", "")));
      const decisions = tabsOf(place).flatMap(({ requests }) =>
        requests.filter((path) => /^POST .approvals/.test(path)),
      );
      expect([world.paidTo(chat), decisions.length]).toEqual([1, 1]);
    }));

  let asleep = 0;
  it("a laptop asleep for longer than the expiry", () =>
    expectStory(async (place) => {
      const { first, chat } = place;
      const sleeper = await first.page.context().newCDPSession(first.page);
      await sleeper.send("Debugger.enable");
      // Nothing of the page runs until it is resumed: no timer, and nothing that arrives. Headless pages ignore `frozen`.
      const isPaused = new Promise((resolve) => sleeper.once("Debugger.paused", resolve));
      await sleeper.send("Debugger.pause");
      await isPaused;
      const { length } = first.requests;
      asleep += 1;
      // The clock belongs to both transports.
      await expect.poll(() => asleep).toBe(places.length);
      world.clock.now += 3_600_000;
      await world.bridge.sweep();
      await place.device.shows("expired", "");
      expect(first.requests).toHaveLength(length);
      await sleeper.send("Debugger.resume");
      await sleeper.detach();
      await Promise.all(tabsOf(place).map((tab) => tab.shows("expired", "")));
      expect(
        await first
          .cards()
          .getByRole("button", { name: /^Approve/ })
          .count(),
      ).toBe(0);
      await expect.poll(() => first.cards().innerText()).toContain("Expired");
      expect(world.paidTo(chat)).toBe(0);
    }));
});
