/**
 * A proxy cuts the connection of a page in a real browser in the middle of an approval, at many different bytes. The person
 * clicks once. Wherever it was cut, the decision counts, the payment is made once, and the card says what the server has.
 * `test/journeys/cuts.test.ts` does the same without a page at every sixteenth byte. `npm run cuts` cuts at more places.
 */
import process from "node:process";
import type { UIMessage } from "ai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildPage } from "../fixtures/build-page.ts";
import { openStoryWorld, type StoryWorld } from "../fixtures/chat-stories/story-world.ts";
import { openTab, type Tab } from "../fixtures/chat-stories/tab.ts";
import { sharedBrowser } from "../fixtures/chromium.ts";
import { type CutProxy, openCutProxy, type Side } from "../fixtures/cut-proxy.ts";
import { majors, partStates, wordsOf } from "../fixtures/stock-chat.ts";
import { ledger, messagesOf, quiet } from "../fixtures/world.ts";

/** How often the conversation is cut from each side, evenly from its first byte to its last. */
const cuts = process.env["CUT_EVERY"] ? 60 : 6;
/** What the model says before and after the call. */
const words = ["Let me ask. ", "process_payment gave", " End."];

/** A tab whose connections are cut by what comes from one side. */
interface Place {
  tab: Tab;
  proxy: CutProxy;
  from: Side;
}

describe.each(majors)("a page on %s", (major, ai) => {
  let world: StoryWorld;
  let places: Place[];

  beforeAll(async () => {
    const [fallback, browser] = await Promise.all([buildPage("chat-stories", {}, major), sharedBrowser()]);
    world = await openStoryWorld(fallback);
    const context = await browser.newContext({ locale: "en-GB", viewport: { width: 900, height: 900 } });
    const open = async (wire: "sse" | "websocket", from: Side) => {
      const proxy = await openCutProxy(world.server.url);
      return { proxy, from, tab: await openTab(context, `${proxy.url}/`, "ours", wire) };
    };
    const sides = ["server", "client"] as const;
    places = await Promise.all(sides.flatMap((from) => [open("sse", from), open("websocket", from)]));
  });
  afterAll(async () => {
    await places[0]?.tab.page.context().close();
    for (const { proxy } of places) await proxy.close();
    await world.close();
  });

  /** Has the whole conversation. Returns how many bytes have come from a side. */
  async function converse({ tab, proxy, from }: Place, id: string, cutAt?: number): Promise<number> {
    const isApproved = !id.endsWith("no");
    await tab.show(id);
    const before = proxy.bytes[from];
    const cut = cutAt !== undefined && proxy.cutAfter(cutAt, from, cutAt % 2 === 0);
    await tab.say(`pay ${id}`);
    await tab.shows("asked", "approval-requested");
    await (isApproved ? tab.approve() : tab.deny(0, "not her"));
    await tab.shows(isApproved ? "done" : "denied", "");
    await tab.ends("End.");
    await expectTruth(tab, id, isApproved);
    await cut;
    return proxy.bytes[from] - before;
  }

  async function expectTruth(tab: Tab, id: string, isApproved: boolean): Promise<void> {
    await quiet(world, id);
    const view = (messages: UIMessage[]) =>
      messages.map((message) => [message.id, partStates(message), wordsOf(message)]);
    const stored = await messagesOf(world, id);
    await expect.poll(async () => view(await tab.messages())).toEqual(view(stored));
    await ai.validateUIMessages({ messages: await tab.messages() });
    expect(stored.map(({ role }) => role)).toEqual(["user", "assistant"]);
    const said = stored[1] ? wordsOf(stored[1]) : "";
    expect(said.match(new RegExp(words.join("|"), "g"))).toEqual(words);
    expect(world.paidTo(id)).toBe(isApproved ? 1 : 0);
    const states = (await ledger(world, id)).map(({ state }) => state);
    expect(states).toEqual([isApproved ? "succeeded" : "denied"]);
  }

  it(
    "ends right wherever its connection is cut",
    async () => {
      await Promise.all(
        places.map(async (place) => {
          const name = `${place.tab.wire}-${place.from}`;
          const size = await converse(place, name);
          for (let index = 0; index < cuts; index += 1) {
            const cutAt = Math.max(1, Math.floor((size * (index + 0.5)) / cuts));
            const id = `${name}-${cutAt}-${index % 2 === 0 ? "yes" : "no"}`;
            await converse(place, id, cutAt).catch((error: unknown) => {
              throw new Error(`${id} of ${size}: ${String(error)}`, { cause: error });
            });
          }
        }),
      );
      expect(places.flatMap(({ tab }) => tab.problems.splice(0))).toEqual([]);
    },
    20_000 * (cuts + 1),
  );
});
