/** A person writes faster than the server replies, or leaves the page at once. No message is lost. */
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { openPage, type PageOptions } from "../fixtures/agent-page.ts";
import { type Ai, majors, wordsOf } from "../fixtures/stock-chat.ts";
import { messagesOf, openWorld, quiet } from "../fixtures/world.ts";

const wires = ["sse", "websocket"] as const;
const cases = majors.flatMap(([name, ai]) => wires.map((over) => [`${over} on ${name}`, ai, over] as const));

async function open(ai: Ai, over: PageOptions["over"]) {
  const world = await openWorld({ bridge: { live: { model: "gemini-2.5-flash" } } });
  const page = openPage(ai, { url: world.server.url, over });
  await page.until(() => page.approvals.sync.isLoaded);
  /** What the person said, as the server has it. */
  const said = async () => (await messagesOf(world)).flatMap((each) => (each.role === "user" ? wordsOf(each) : []));
  return { world, page, said };
}

describe.each(cases)("over %s", (_, ai, over) => {
  it.each([
    ["in the same moment", false],
    ["before the server has replied to the first", true],
  ])("three messages that are sent %s all arrive, in their order", async (_when, waits) => {
    const { page, said } = await open(ai, over);
    for (const text of ["one", "two", "three"]) {
      void page.chat.sendMessage({ text });
      if (waits) await page.until(() => page.chat.status !== "ready");
    }
    await page.until(() => page.chat.status === "ready" && wordsOf(page.chat.messages.at(-1)!).includes("friend"));
    expect(await said()).toEqual(["one", "two", "three"]);
    const messages = await page.settled();
    expect(messages.flatMap((each) => (each.role === "user" ? wordsOf(each) : []))).toEqual(["one", "two", "three"]);
    expect(page.errors).toEqual([]);
  });

  it("a message that follows a request for a payment at once does not wait for its card", async () => {
    const { page, said } = await open(ai, over);
    void page.chat.sendMessage({ text: "pay" });
    await page.until(() => page.chat.status === "submitted");
    await page.chat.sendMessage({ text: "hello" });
    await page.settled();
    expect(await said()).toEqual(["pay", "hello"]);
    expect(page.errors).toEqual([]);
  });
});

it("a message arrives if the person leaves the page before the server has replied, over SSE", async () => {
  const { world, page, said } = await open(majors[0][1], "sse");
  void page.chat.sendMessage({ text: "hello" });
  while (page.count("POST /stream") === 0) await setImmediate();
  page.close();
  await expect.poll(said).toEqual(["hello"]);
  await quiet(world);
});
