/**
 * Deployments on the demo page: a person approves, the deployment begins, and later a service reports over HTTP what came
 * of it. Meanwhile the server restarts or crashes, and the person writes on. The card, the ledger, the chat's history and
 * the model must say the same outcome, once.
 */
import type { ApprovalView } from "adk-stream-protocol/protocol";
import { type Ask, gate, pause, type ScriptedGemini, startScriptedGemini, text } from "adk-stream-protocol/testing";
import type { UIMessage } from "ai";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { demoRules } from "../../demo/script/demo-rules.ts";
import { type DemoServer, startDemo } from "../fixtures/demo-server.ts";
import {
  approvalId,
  type Card,
  cards,
  connectionIs,
  expectText,
  inState,
  openVisitor,
  pathOf,
  say,
  type Visitor,
  waiting,
} from "./page.ts";

/** A day: no deployment of these tests reports by itself. */
const never = String(24 * 60 * 60_000);
const live = { result: { status: "live", environment: "production" } };
const failure = { error: "The disk is full." };
/** What the assistant says when a deployment has begun. */
const begun = "The deployment of shop has begun.";

/** What came of a deployment, as everyone must see it. */
interface Ending {
  state: ApprovalView["state"];
  card: string;
  /** What the card says about it. */
  note: string;
  /** What the assistant says about it. */
  words: string;
  /** What the chat's history has in the part of the call. */
  part: object;
}
const endings = {
  live: {
    state: "succeeded",
    card: "done",
    note: '"status": "live"',
    words: "Shop is live in production.",
    part: { state: "output-available", output: live.result },
  },
  failed: {
    state: "failed",
    card: "failed",
    note: "The disk is full.",
    words: "The deployment of shop failed: The disk is full.",
    part: { state: "output-error", errorText: expect.stringContaining("The disk is full.") },
  },
  unknown: {
    state: "indeterminate",
    card: "unknown",
    note: "No report came in time. It may have taken effect.",
    words: "I cannot tell whether the deployment of shop went through.",
    part: { state: "output-error", errorText: expect.stringContaining("may have taken effect") },
  },
} satisfies Record<string, Ending>;

async function getJson<T>(url: string): Promise<T> {
  return (await (await fetch(url)).json()) as T;
}

/** Reports what came of a call, as the service that runs it does. */
async function report(server: DemoServer, key: string, body: object): Promise<{ status: number; state: string }> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${server.url}/calls/${key}`, { method: "POST", headers, body: JSON.stringify(body) });
  return { status: response.status, ...((await response.json()) as { state: string }) };
}

const countOf = (words: string, inText: string) => inText.split(words).length - 1;

let gemini: ScriptedGemini;
let demo: DemoServer;
/** A server that waits only a moment for reports. */
let hasty: DemoServer;
let visitor: Visitor;
let page: Page;
let card: Card;

beforeAll(async () => {
  gemini = await startScriptedGemini({ rules: demoRules });
  const env = { GOOGLE_GEMINI_BASE_URL: gemini.url, DEPLOY_MS: never };
  [visitor, demo, hasty] = await Promise.all([
    openVisitor(),
    startDemo({ ...env, REPORT_MS: never }),
    startDemo({ ...env, REPORT_MS: "4000" }),
  ]);
  ({ page } = visitor);
  card = cards(page).first();
});
afterAll(async () => {
  await Promise.all([demo.close(), hasty.close()]);
  await gemini.close();
  await visitor.close();
});
beforeEach(async () => {
  gemini.reset(demoRules);
  await Promise.all([demo.start(), hasty.start()]);
});
afterEach(() => visitor.leave());

describe.each([
  ["sse", "ai@7"],
  ["bidi", "ai@6"],
] as const)("a deployment in %s with useChat of %s", (mode, major) => {
  const saying = (words: string) => page.locator(".text").getByText(words);
  const assistantSays = (words: string) => saying(words).waitFor({ timeout: waiting });

  /**
   * Asks for a deployment, approves it, and waits until it has begun and the assistant has said so. Returns its key, which
   * for a gated call is the id of the approval.
   */
  const begin = async (server: DemoServer): Promise<string> => {
    await visitor.visit(server.url + pathOf(mode, major));
    await say(page, "Deploy the shop");
    await inState(card, "asked");
    await card.getByRole("button", { name: "Approve" }).click();
    await assistantSays(begun);
    return approvalId(page);
  };
  /** Starts the server again. In BIDI the page reconnects by itself; in SSE it notices nothing. */
  const startAgain = async (server: DemoServer) => {
    await server.start();
    if (mode === "bidi") await connectionIs(page, "open");
  };
  const writeOn = async () => {
    await say(page, "Thank you");
    await assistantSays("You are welcome!");
  };
  /** By request the model hears of a call of an older message with the next message. */
  const askIfNeeded = async () => {
    if (mode === "sse") await say(page, "And now?");
  };

  /** Checks that page, ledger, history and model agree on what came of the deployment, and have it once. */
  const expectEnding = async (server: DemoServer, key: string, { state, words, part, ...shown }: Ending) => {
    await inState(card, shown.card);
    await assistantSays(words);
    await page.reload();
    await inState(card, shown.card);
    if (shown.card === "done") await card.getByText("Result", { exact: true }).click();
    await expectText(card, shown.note);
    await assistantSays(words);
    for (const once of [saying(words), saying(begun), cards(page)]) await expect.poll(() => once.count()).toBe(1);

    const chat = new URL(page.url()).searchParams.get("chat") ?? "";
    const { approvals } = await getJson<{ approvals: ApprovalView[] }>(`${server.url}/approvals?chat=${chat}`);
    expect(approvals).toMatchObject([{ id: key, toolName: "deploy", state }]);

    const { messages } = await getJson<{ messages: UIMessage[] }>(`${server.url}/stream/${chat}/messages`);
    const parts = messages.flatMap((message) => message.parts);
    const said = parts.flatMap((each) => (each.type === "text" ? each.text : [])).join("\n");
    expect(countOf(words, said)).toBe(1);
    expect(parts.filter(({ type }) => type === "tool-deploy")).toMatchObject([part]);

    await say(page, "Good evening");
    await assistantSays("What shall I do?");
    const history = JSON.stringify(gemini.requests.at(-1)?.contents);
    expect(countOf("ended as ", history)).toBe(1);
    expect(countOf(`ended as ${state}`, history)).toBe(1);
    expect(countOf(words, history)).toBe(1);
    expect(gemini.requests.flatMap(({ pairingErrors }) => pairingErrors)).toEqual([]);
  };

  it.each([
    ["went well", live, endings.live],
    ["failed", failure, endings.failed],
  ])("that %s is reported after a restart and new text, and everyone says so once", async (_, body, ending) => {
    const key = await begin(demo);
    await inState(card, "waiting");
    await expectText(card, "Begun, waiting for a report until");
    expect(await demo.stop("SIGTERM")).toBe(0);
    await startAgain(demo);
    await writeOn();
    await inState(card, "waiting");
    expect(await report(demo, key, body)).toMatchObject({ status: 200, state: ending.state });
    await inState(card, ending.card);
    await askIfNeeded();
    await expectEnding(demo, key, ending);
    // The service did not get the reply, and sends its report again.
    expect(await report(demo, key, body)).toMatchObject({ status: 200, state: ending.state });
  });

  it("that is reported after its deadline stays unknown, and the report is refused", async () => {
    const key = await begin(hasty);
    await hasty.stop("SIGKILL");
    await startAgain(hasty);
    await writeOn();
    await inState(card, "unknown");
    for (const late of [live, live, failure])
      expect(await report(hasty, key, late)).toMatchObject({ status: 409, state: "indeterminate" });
    await askIfNeeded();
    await expectEnding(hasty, key, endings.unknown);
  });

  it("that gets opposite reports at once has the outcome of one, and the others hear which", async () => {
    const key = await begin(demo);
    await inState(card, "waiting");
    const bodies = [live, failure, live, failure];
    const replies = await Promise.all(bodies.map((body) => report(demo, key, body)));
    const ending = [endings.live, endings.failed].find(({ state }) => state === replies[0]?.state);
    if (!ending) throw new Error(`The reports were answered with ${JSON.stringify(replies)}.`);
    const isTaken = (body: object) => body === (ending === endings.live ? live : failure);
    expect(replies).toMatchObject(bodies.map((body) => ({ status: isTaken(body) ? 200 : 409, state: ending.state })));
    await expectEnding(demo, key, ending);
  });

  it("that was reported to a server that died before it recorded the report can be reported again", async () => {
    const key = await begin(demo);
    await inState(card, "waiting");
    const unlock = demo.lockDatabase();
    const lost = report(demo, key, live).catch((error: unknown) => error);
    // Reads go on, and this one comes after the report: the server has the report and cannot record it.
    const { approvals } = await getJson<{ approvals: ApprovalView[] }>(`${demo.url}/approvals?state=waiting`);
    expect(approvals.map(({ id }) => id)).toContain(key);
    await demo.stop("SIGKILL");
    unlock();
    expect(await lost).toBeInstanceOf(Error);

    await startAgain(demo);
    await inState(card, "waiting");
    expect(await report(demo, key, live)).toMatchObject({ status: 200, state: "succeeded" });
    await inState(card, "done");
    // A live model has no connection after a restart. It hears of the call with the next message.
    if (mode === "bidi") await say(page, "And now?");
    await expectEnding(demo, key, endings.live);
  });

  it("that was reported to a server that died while the model spoke of it is spoken of once", async () => {
    const held = gate();
    const toldUnasked = ({ fresh, contents }: Ask) => !fresh && JSON.stringify(contents).includes("ended as ");
    gemini.reset([
      { when: toldUnasked, say: [text("Shop is live "), pause(held.opened), text("in production.")] },
      ...demoRules,
    ]);
    const key = await begin(demo);
    await inState(card, "waiting");
    expect(await report(demo, key, live)).toMatchObject({ status: 200, state: "succeeded" });
    await inState(card, "done");
    await assistantSays("Shop is live");
    await demo.stop("SIGKILL");
    held.open();

    await startAgain(demo);
    expect(await report(demo, key, live)).toMatchObject({ status: 200, state: "succeeded" });
    expect(await report(demo, key, failure)).toMatchObject({ status: 409, state: "succeeded" });
    // A live model's half sentence is kept, with a line that says so. It hears of the call again with the next message.
    if (mode === "bidi") {
      await saying("Shop is live").waitFor({ timeout: waiting });
      const conversation = page.getByRole("region", { name: "Conversation" });
      await conversation.getByText("The server stopped in the middle of this reply.").waitFor({ timeout: waiting });
      await say(page, "And now?");
    }
    await expectEnding(demo, key, endings.live);
  });
});
