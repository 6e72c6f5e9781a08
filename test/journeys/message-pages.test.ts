import { describe, expect, it } from "vitest";
import { get, idle, openWorld, payRules, say } from "../fixtures/world.ts";
import { storeKinds } from "../fixtures/store-kinds.ts";

interface Page {
  messages: { id: string; role: string }[];
  before?: string;
}

describe.each(storeKinds)("the pages of a chat, on $name", ({ options }) => {
  async function openChat() {
    const world = await openWorld({ rules: payRules, ...options() });
    for (let turn = 0; turn < 5; turn += 1) await say(world, `hello ${turn}`);
    await idle(world);
    return { world, page: async (query: string) => (await get(world, `/stream/chat-1/messages${query}`)).body as Page };
  }

  it("come from the newest to the oldest, each in order, and together are the chat", async () => {
    const { page } = await openChat();
    const whole = await page("");
    expect(whole.messages).toHaveLength(10);
    expect(whole.before).toBeUndefined();
    const pages: Page[] = [await page("?limit=4")];
    for (let before = pages[0]?.before; before !== undefined; before = pages[0]?.before)
      pages.unshift(await page(`?limit=4&before=${before}`));
    expect(pages.map(({ messages }) => messages.length)).toEqual([2, 4, 4]);
    expect(pages.flatMap(({ messages }) => messages)).toEqual(whole.messages);
  });

  it("end where the chat begins", async () => {
    const { page } = await openChat();
    expect((await page("?limit=10")).before).toBeUndefined();
    const [first] = (await page("")).messages;
    expect(await page(`?before=${first?.id}`)).toEqual({ messages: [] });
    expect(await page("?before=unknown")).toEqual({ messages: [] });
  });

  it("have a limit that is a number", async () => {
    const { world } = await openChat();
    for (const limit of ["0", "-1", "1001", "ten", "", "1e2"])
      expect(await get(world, `/stream/chat-1/messages?limit=${limit}`)).toMatchObject({
        status: 400,
        body: { code: "invalid", message: expect.stringContaining("from 1 to 1000") },
      });
  });
});
