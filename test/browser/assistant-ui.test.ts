/**
 * A page made of assistant-ui's own parts (`test/fixtures/assistant-ui`) drives the server. Every story ends with the same
 * conversation on the page, in `GET /stream/:id/messages` and in the model's last request.
 */
import { call, gate, pause, type Rule, text } from "adk-stream-protocol/testing";
import type { UIMessage } from "ai";
import type { Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { buildPage } from "../fixtures/build-page.ts";
import { get, openWorld, type World } from "../fixtures/world.ts";
import { openVisitor, type Visitor, waiting } from "./page.ts";

const rules: Rule[] = [
  {
    when: ({ responses, fresh }) => !fresh && responses.length > 0,
    say: ({ responses }) => [
      text(
        responses
          .map(({ response }) => {
            const { paid, error } = response as { paid?: number; error?: string };
            return error === undefined ? `Paid ${paid}.` : `Not paid: ${/Reason: (.*)/.exec(error)?.[1]}.`;
          })
          .join(" "),
      ),
    ],
  },
  { when: /pay/, say: [call("process_payment", { amount: 50, recipient: "Hanako" })] },
  { say: ({ request }) => [text(`Reply ${request}.`)] },
];

let visitor: Visitor;
let fallback: (request: Request) => Response | undefined;

beforeAll(async () => {
  [visitor, fallback] = await Promise.all([openVisitor(), buildPage("assistant-ui")]);
});
afterEach(() => visitor.leave());
afterAll(() => visitor.close());

type Form = "plain" | "stored" | "websocket";

/** Opens a page in one of its forms, see `main.tsx`. */
async function visit(form: Form) {
  const world = await openWorld({
    rules,
    server: { fallback },
    // Files travel as addresses, also small ones.
    bridge: { live: { model: "gemini-2.5-flash-live" }, files: { inlineBytes: 0 } },
  });
  const { page } = visitor;
  let chat = "";
  page.on("request", (request) => {
    if (request.method() === "POST" && request.url() === `${world.server.url}/stream`)
      chat = (request.postDataJSON() as { id: string }).id;
  });
  await visitor.visit(`${world.server.url}/?form=${form}`);
  return { world, page, chatId: () => chat };
}

const messagesOn = (page: Page) => page.locator("[data-role]");
const cardOn = (page: Page) => page.locator("[data-tool]");
const button = (within: Page | Locator, name: string) => within.getByRole("button", { name, exact: true });

/** Writes a message, sends it, and waits for these words of the reply. */
async function say(page: Page, words: string, reply?: string): Promise<void> {
  await page.getByTestId("composer").getByRole("textbox").fill(words);
  await button(page, "Send").click();
  if (reply !== undefined) await shows(page, reply);
}

/** Waits until the page shows this text and no reply is being generated. */
async function shows(page: Page, words: string): Promise<void> {
  await page.locator("[data-text]", { hasText: words }).last().waitFor({ timeout: waiting });
  await button(page, "Send").waitFor({ timeout: waiting });
}

async function edit(page: Page, index: number, words: string): Promise<void> {
  await button(messagesOn(page).nth(index), "Edit").click();
  const composer = page.getByTestId("edit");
  await composer.getByRole("textbox").fill(words);
  await button(composer, "Save").click();
}

/** The conversation on the page: one line for each text and each call. */
async function linesOnPage(page: Page): Promise<string[]> {
  return messagesOn(page).evaluateAll((messages) =>
    messages.flatMap((message) => {
      const role = message.getAttribute("data-role") === "user" ? "user" : "model";
      return [...message.querySelectorAll("[data-text], [data-tool], [data-attachment]")].map((part) => {
        if (part.hasAttribute("data-attachment")) return `${role} attaches`;
        const tool = part.getAttribute("data-tool");
        return tool === null ? `${role}: ${part.textContent}` : `${role} calls ${tool}`;
      });
    }),
  );
}

function linesOf(messages: readonly UIMessage[]): string[] {
  return messages.flatMap((message) => {
    const role = message.role === "user" ? "user" : "model";
    return message.parts.flatMap((part) => {
      if (part.type === "text") return `${role}: ${part.text}`;
      if (part.type === "file") return `${role} attaches`;
      return part.type.startsWith("tool-") ? `${role} calls ${part.type.slice(5)}` : [];
    });
  });
}

/** What the model was asked last, in the same form. */
function linesToModel({ gemini }: World): string[] {
  const { contents, pairingErrors } = gemini.requests.at(-1) ?? {
    contents: [],
    pairingErrors: ["The model was not asked."],
  };
  expect(pairingErrors).toEqual([]);
  return contents.flatMap(({ role, parts = [] }) =>
    parts.flatMap((part) => {
      if (part.functionCall) return `${role} calls ${part.functionCall.name}`;
      if (part.inlineData) return `${role} attaches`;
      return part.text === undefined ? [] : `${role}: ${part.text}`;
    }),
  );
}

/** Checks that page, server and model have this conversation. The last line is the model's response to its last request. */
async function expectEverywhere({ world, page, chatId }: Awaited<ReturnType<typeof visit>>, lines: string[]) {
  expect(await linesOnPage(page)).toEqual(lines);
  const { body } = await get(world, `/stream/${encodeURIComponent(chatId())}/messages`);
  expect(linesOf((body as { messages: UIMessage[] }).messages)).toEqual(lines);
  expect(linesToModel(world)).toEqual(lines.slice(0, -1));
}

const pixel = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

async function attach(page: Page): Promise<void> {
  const chooser = page.waitForEvent("filechooser");
  await button(page, "Attach").click();
  await (await chooser).setFiles({ name: "dot.png", mimeType: "image/png", buffer: pixel });
  await page.getByTestId("composer").locator("[data-attachment]").waitFor({ timeout: waiting });
}

describe("assistant-ui as its documentation shows it", () => {
  it("sends messages and a picture, and edits an earlier message", async () => {
    const story = await visit("plain");
    const { page } = story;
    await attach(page);
    for (const [index, words] of ["one", "two", "three"].entries()) await say(page, words, `Reply ${index + 1}.`);
    const first = ["user: one", "user attaches", "model: Reply 1."];
    await expectEverywhere(story, [...first, "user: two", "model: Reply 2.", "user: three", "model: Reply 3."]);
    await edit(page, 2, "deux");
    await shows(page, "Reply 4.");
    await expectEverywhere(story, [...first, "user: deux", "model: Reply 4."]);
    await say(page, "trois", "Reply 5.");
    await expectEverywhere(story, [...first, "user: deux", "model: Reply 4.", "user: trois", "model: Reply 5."]);
  });

  it("makes the last reply again, and an older one", async () => {
    const story = await visit("plain");
    const { page } = story;
    for (const [index, words] of ["one", "two"].entries()) await say(page, words, `Reply ${index + 1}.`);
    await button(messagesOn(page).nth(3), "Reload").click();
    await shows(page, "Reply 3.");
    await expectEverywhere(story, ["user: one", "model: Reply 1.", "user: two", "model: Reply 3."]);
    await button(messagesOn(page).nth(1), "Reload").click();
    await shows(page, "Reply 4.");
    await expectEverywhere(story, ["user: one", "model: Reply 4."]);
  });

  it("approves a payment, denies one with a reason, and cancels one with another message", async () => {
    const story = await visit("plain");
    const { page, world } = story;
    await say(page, "pay");
    await button(cardOn(page), "Approve").click();
    await shows(page, "Paid");
    await say(page, "pay again");
    await cardOn(page).nth(1).getByLabel("Reason").fill("Too much");
    await button(cardOn(page).nth(1), "Deny").click();
    await shows(page, "Too much");
    await say(page, "pay more");
    await button(cardOn(page).nth(2), "Approve").waitFor({ timeout: waiting });
    await say(page, "never mind", "Reply 6.");
    await expectEverywhere(story, [
      ...["user: pay", "model calls process_payment", "model: Paid 50."],
      ...["user: pay again", "model calls process_payment", "model: Not paid: Too much."],
      ...["user: pay more", "model calls process_payment", "user: never mind", "model: Reply 6."],
    ]);
    expect(await page.locator("[data-result]").allTextContents()).toEqual([
      '{"success":true,"paid":50,"recipient":"Hanako"}',
      'failed: {"error":"Too much"}',
      'failed: {"error":"User cancelled tool call by sending a new message."}',
    ]);
    expect(world.payments).toEqual([{ amount: 50, recipient: "Hanako" }]);
    expect(await statesOf(world)).toEqual(["succeeded", "denied", "cancelled"]);
  });

  it("makes the reply with a payment again without paying again", async () => {
    const story = await visit("plain");
    const { page, world } = story;
    await say(page, "pay");
    await button(cardOn(page), "Approve").click();
    await shows(page, "Paid");
    const before = world.gemini.requests.length;
    await button(messagesOn(page).nth(1), "Reload").click();
    await world.gemini.waitForRequest(before + 1);
    await shows(page, "Paid");
    await expectEverywhere(story, ["user: pay", "model calls process_payment", "model: Paid 50."]);
    expect(world.payments).toHaveLength(1);
  });
});

describe("assistant-ui with the runtime of docs/page.md", () => {
  it("edits the first message, with its picture, after a reload", async () => {
    const story = await visit("stored");
    const { page } = story;
    await attach(page);
    await say(page, "what is this", "Reply 1.");
    await say(page, "two", "Reply 2.");
    await page.reload();
    await shows(page, "Reply 2.");
    await expectEverywhere(story, [
      ...["user: what is this", "user attaches", "model: Reply 1.", "user: two", "model: Reply 2."],
    ]);
    await edit(page, 0, "and this");
    await shows(page, "Reply 3.");
    await expectEverywhere(story, ["user: and this", "user attaches", "model: Reply 3."]);
  });

  it("lists the server's chats, switches between them and deletes one", async () => {
    const story = await visit("stored");
    const { page, world } = story;
    const list = page.locator("nav");
    await say(page, "first chat", "Reply 1.");
    await button(list, "first chat").waitFor({ timeout: waiting });
    await button(page, "New thread").click();
    await say(page, "second chat", "Reply 2.");
    await button(list, "second chat").waitFor({ timeout: waiting });
    await page.reload();
    await button(list, "first chat").click();
    await shows(page, "Reply 1.");
    await say(page, "three", "Reply 3.");
    await expectEverywhere(story, ["user: first chat", "model: Reply 1.", "user: three", "model: Reply 3."]);
    await button(list, "second chat").click();
    await shows(page, "Reply 2.");
    await button(list.locator("[aria-current]"), "Delete").click();
    await button(list, "second chat").waitFor({ state: "detached", timeout: waiting });
    const { body } = await get(world, "/chats");
    expect((body as { chats: { title: string }[] }).chats.map(({ title }) => title)).toEqual(["first chat"]);
  });

  it("goes on after a reload in the middle of a reply, and after one while a card waits", async () => {
    const story = await visit("stored");
    const { page, world } = story;
    const { opened, open } = gate();
    world.gemini.reset([{ when: /slowly/, say: [text("It takes"), pause(opened), text(" time.")] }, ...rules]);
    await say(page, "slowly");
    await page.getByText("It takes").waitFor({ timeout: waiting });
    await page.reload();
    await page.getByText("It takes").waitFor({ timeout: waiting });
    open();
    await shows(page, "It takes time.");
    await say(page, "pay");
    await button(cardOn(page), "Approve").waitFor({ timeout: waiting });
    await page.reload();
    await button(cardOn(page), "Approve").click();
    await shows(page, "Paid");
    await expectEverywhere(story, [
      ...["user: slowly", "model: It takes time.", "user: pay", "model calls process_payment", "model: Paid 50."],
    ]);
    expect(world.payments).toHaveLength(1);
  });

  it("goes on over the WebSocket while a card waits, and answers it afterwards", async () => {
    const story = await visit("websocket");
    const { page, world } = story;
    await say(page, "pay");
    await button(cardOn(page), "Approve").waitFor({ timeout: waiting });
    await say(page, "hello", "Reply 2.");
    expect(await statesOf(world)).toEqual(["pending"]);
    await button(cardOn(page), "Approve").click();
    await shows(page, "Paid");
    expect(world.payments).toHaveLength(1);
    const before = ["user: pay", "model calls process_payment"];
    const after = ["user: hello", "model: Reply 2."];
    expect(linesToModel(world)).toEqual([...before, ...after]);
    expect(await linesOnPage(page)).toEqual([...before, "model: Paid 50.", ...after]);
    await page.reload();
    await shows(page, "Paid");
    expect(await linesOnPage(page)).toEqual([...before, "model: Paid 50.", ...after]);
    await edit(page, 2, "bonjour");
    await shows(page, "Reply 4.");
    expect(await linesOnPage(page)).toEqual([...before, "model: Paid 50.", "user: bonjour", "model: Reply 4."]);
    expect(linesToModel(world).filter((line) => /hello|bonjour/.test(line))).toEqual(["user: bonjour"]);
    await page.reload();
    await shows(page, "Reply 4.");
    expect(await linesOnPage(page)).toEqual([...before, "model: Paid 50.", "user: bonjour", "model: Reply 4."]);
  });
});

async function statesOf(world: World): Promise<string[]> {
  const { body } = await get(world, "/approvals");
  return (body as { approvals: { state: string }[] }).approvals.map(({ state }) => state);
}
