/** Streams over HTTP that stay open while a call waits: `hold: true` in `POST /stream`, `?hold=1` on the way back. */
import { getEventListeners } from "node:events";
import { gate, pause, text } from "adk-stream-protocol/testing";
import { decodeSse } from "adk-stream-protocol/protocol";
import { isToolUIPart, type UIMessage, type UIMessageChunk } from "ai";
import { describe, expect, it, onTestFinished } from "vitest";
import { nodeCount } from "../fixtures/nodes.ts";
import { type Ai, majors, validateOn } from "../fixtures/stock-chat.ts";
import { afterTools, get, openWorld, payRules, post, receive, userMessage, type World } from "../fixtures/world.ts";

interface HeldEvent {
  chunk: UIMessageChunk;
  id: number | undefined;
}

/** Reads a held stream in the background. */
function reader(response: Response) {
  const events: HeldEvent[] = [];
  let end: "open" | "done" | "cut" = "open";
  const iterator = decodeSse(response.body!);
  onTestFinished(() => void iterator.return(undefined));
  const read = async () => {
    let last: string | undefined;
    for await (const { data, id } of iterator) {
      if (data === "[DONE]") end = "done";
      else events.push({ chunk: JSON.parse(data) as UIMessageChunk, id: id === last ? undefined : Number(id) });
      last = id;
    }
    if (end === "open") end = "cut";
  };
  const over = read().catch(() => void (end = "cut"));
  const types = () => events.map(({ chunk }) => chunk.type).filter((type) => type !== "data-approval");
  return {
    events,
    types,
    chunks: () => events.map(({ chunk }) => chunk),
    end: () => end,
    over,
    async until(isThere: (seen: string[]) => boolean): Promise<void> {
      await expect.poll(() => isThere(types())).toBe(true);
    },
    asked: (index = 0) => {
      const asks = events.flatMap(({ chunk }) => (chunk.type === "tool-approval-request" ? [chunk.approvalId] : []));
      return asks[index]!;
    },
  };
}

const body = (words: string, more: object = {}) => ({
  id: "chat-1",
  messages: [userMessage(words)],
  trigger: "submit-message",
  hold: true,
  ...more,
});

async function say(world: World, words: string, query = "") {
  const response = await post(world, `/stream${query}`, body(words));
  return { response, ...reader(response) };
}

async function resume(world: World, after?: number, query = "") {
  const headers: HeadersInit = after === undefined ? {} : { "last-event-id": String(after) };
  const response = await fetch(`${world.server.url}/stream/chat-1/stream?hold=1${query}`, { headers });
  return response.status === 200 ? reader(response) : response.status;
}
const resumed = async (...args: Parameters<typeof resume>) => (await resume(...args)) as ReturnType<typeof reader>;

const decide = (world: World, id: string, approved: boolean) => post(world, `/approvals/${id}`, { approved, key: "k" });
const question = ["start", "start-step", "tool-input-start", "tool-input-available", "tool-approval-request"];
const words = ["start-step", "text-start", "text-delta", "text-end", "finish-step", "finish"];
const isAsked = (seen: string[]) => seen.at(-1) === "finish-step" && seen.includes("tool-approval-request");
const toolCallOf = (chunks: UIMessageChunk[]) =>
  chunks.flatMap((chunk) => (chunk.type === "tool-input-available" ? [chunk.toolCallId] : []))[0];
const short = (seen: string[]) => seen.filter((type, index) => type !== seen[index - 1]);

describe("a held stream", () => {
  it.each([true, false])(
    "goes on after the decision %s as one reply, with finish and [DONE] once",
    async (approved) => {
      const world = await openWorld();
      const held = await say(world, "pay");
      await held.until(isAsked);
      expect(held.types()).toEqual([...question, "finish-step"]);
      expect(held.end()).toBe("open");
      expect((await decide(world, held.asked(), approved)).status).toBe(200);
      await held.over;
      const outcome = approved ? "tool-output-available" : "tool-output-denied";
      expect(short(held.types())).toEqual([...question, "finish-step", outcome, ...words]);
      expect(held.end()).toBe("done");
      expect(world.payments).toHaveLength(approved ? 1 : 0);
      const ids = held.events.flatMap(({ id }) => id ?? []);
      expect(ids).toEqual(ids.toSorted((a, b) => a - b));
    },
  );

  it("waits for each of several answers", async () => {
    const world = await openWorld();
    const held = await say(world, "two payments");
    await held.until(isAsked);
    await decide(world, held.asked(0), true);
    await held.until((seen) => seen.includes("tool-output-available"));
    expect(held.end()).toBe("open");
    await decide(world, held.asked(1), false);
    await held.over;
    expect(held.types().filter((type) => type === "start" || type === "finish")).toEqual(["start", "finish"]);
    expect(held.types()).toContain("tool-output-denied");
  });

  it("is no different for a reply that asks nothing, and for clients that do not ask for it", async () => {
    const world = await openWorld();
    const plain = await say(world, "hello");
    await plain.over;
    expect([short(plain.types()), plain.end()]).toEqual([["start", ...words], "done"]);
    const stock = await receive(await post(world, "/stream", body("pay", { hold: false })));
    expect([stock.chunks.at(-1)?.type, stock.done]).toEqual(["finish", 1]);
    expect((await fetch(`${world.server.url}/stream/chat-1/stream`)).status).toBe(204);
    expect((await post(world, "/stream", body("pay", { hold: "yes" }))).status).toBe(400);
  });

  it("ends when another message comes", async () => {
    const world = await openWorld();
    const first = await say(world, "pay");
    await first.until(isAsked);
    const second = await say(world, "hello");
    await Promise.all([first.over, second.over]);
    expect([first.end(), first.types().includes("finish"), second.end()]).toEqual(["done", false, "done"]);
  });

  it("ends when its message is withdrawn, and when the chat is deleted", async () => {
    const world = await openWorld();
    const first = await say(world, "pay");
    await first.until(isAsked);
    const second = reader(await post(world, "/stream", body("", { trigger: "regenerate-message" })));
    await first.over;
    expect(first.end()).toBe("done");
    await second.until(isAsked);
    await fetch(`${world.server.url}/chats/chat-1`, { method: "DELETE" });
    await second.over;
    expect(second.chunks().at(-1)).toEqual({ type: "error", errorText: "This chat was deleted." });
    expect(second.end()).toBe("done");
  });

  it("tells of an expiry, and ends with the message", async () => {
    const world = await openWorld();
    const held = await say(world, "pay");
    await held.until(isAsked);
    world.clock.now += 3_600_000;
    await world.bridge.sweep();
    await held.over;
    expect(held.chunks()).toContainEqual(
      expect.objectContaining({ type: "data-approval", data: expect.objectContaining({ state: "expired" }) }),
    );
    expect([held.end(), held.types().at(-1)]).toEqual(["done", "finish"]);
  });

  it("shows questions in the second dialect", async () => {
    const world = await openWorld();
    const held = await say(world, "pay", "?confirmation=tool");
    await held.until((seen) => seen.filter((type) => type === "finish-step").length === 2);
    const approvals = (await get(world, "/approvals?chat=chat-1")).body.approvals as { id: string }[];
    await decide(world, approvals[0]!.id, false);
    await held.over;
    expect(held.types().filter((type) => type === "start" || type === "finish")).toEqual(["start", "finish"]);
    expect(held.types()).toContain("tool-output-error");
  });

  const isConfirmation = ({ type }: { type: string }) => type === "tool-adk_request_confirmation";
  /** The confirmations of the second dialect in a message, as a page of this major has read it. */
  const confirmationsOf = async (ai: Ai, chunks: UIMessageChunk[]) =>
    (await validateOn(ai, chunks)).parts
      .filter(isToolUIPart)
      .filter(isConfirmation)
      .map(({ state, output }) => [state, output]);
  const hasConfirmations = (count: number) => (seen: string[]) =>
    seen.filter((type) => type === "tool-input-available").length === 2 * count &&
    seen.filter((type) => type === "finish-step").length >= 2;

  describe.each(majors)("in the second dialect, read by %s", (_, ai) => {
    it("tells a question what was answered beside the stream", async () => {
      const world = await openWorld();
      const held = await say(world, "two payments", "?confirmation=tool");
      await held.until(hasConfirmations(2));
      const approvals = (await get(world, "/approvals?chat=chat-1")).body.approvals as { id: string }[];
      await decide(world, approvals[0]!.id, true);
      await held.until((seen) => seen.filter((type) => type === "tool-output-available").length === 2);
      await decide(world, approvals[1]!.id, false);
      await held.over;
      const answered = ["output-available", { confirmed: true }];
      expect(await confirmationsOf(ai, held.chunks())).toEqual([answered, ["output-available", { confirmed: false }]]);
    });

    it("tells it also after a cut, wherever the reader goes on", async () => {
      const world = await openWorld();
      const held = await say(world, "two payments", "?confirmation=tool");
      await held.until(hasConfirmations(2));
      const approvals = (await get(world, "/approvals?chat=chat-1")).body.approvals as { id: string }[];
      await decide(world, approvals[0]!.id, true);
      await held.until((seen) => seen.filter((type) => type === "tool-output-available").length === 2);
      const paused = held.events.length;
      const readers = [];
      for (let after = 0; after < paused; after += 1) {
        const { id } = held.events[after]!;
        if (id !== undefined) readers.push({ after, resumed: await resumed(world, id, "&confirmation=tool") });
      }
      readers.push({ after: -1, resumed: await resumed(world, undefined, "&confirmation=tool") });
      await decide(world, approvals[1]!.id, true);
      await held.over;
      const whole = await confirmationsOf(ai, held.chunks());
      for (const { after, resumed: rest } of readers) {
        await rest.over;
        const chunks = [...held.chunks().slice(0, after + 1), ...rest.chunks()];
        expect(await confirmationsOf(ai, chunks), `after event ${after}`).toEqual(whole);
      }
    });

    it("tells an unanswered question that it has expired", async () => {
      const world = await openWorld();
      const held = await say(world, "pay", "?confirmation=tool");
      await held.until(hasConfirmations(1));
      world.clock.now += 24 * 3_600_000;
      await world.bridge.sweep();
      await held.over;
      expect(await confirmationsOf(ai, held.chunks())).toEqual([["output-error", undefined]]);
    });

    it("tells the question that stays when a reply to another answer is held", async () => {
      const world = await openWorld();
      const first = await say(world, "two payments", "?confirmation=tool");
      await first.until(hasConfirmations(2));
      const before = await validateOn(ai, first.chunks());
      const [one, two] = before.parts.filter(isToolUIPart).filter(isConfirmation);
      const answered = { ...one, state: "output-available", output: { confirmed: true } };
      const message = { ...before, parts: before.parts.map((part) => (part === one ? answered : part)) } as UIMessage;
      const request = { id: "chat-1", messages: [message], messageId: message.id, hold: true };
      const second = reader(await post(world, "/stream?confirmation=tool", request));
      await second.until((seen) => seen.includes("tool-output-available"));
      await decide(world, two!.toolCallId, false);
      await second.over;
      const { parts } = await validateOn(ai, second.chunks(), message);
      const outputs = parts.flatMap((part) =>
        "toolCallId" in part && [one, two].some((asked) => asked?.toolCallId === part.toolCallId) ? [part.output] : [],
      );
      expect(outputs).toEqual([{ confirmed: true }, { confirmed: false }]);
    });
  });

  it("goes on after a browser tool's result; one that comes before its call is recorded is refused and not lost", async () => {
    const world = await openWorld();
    const held = await say(world, "music");
    await held.until((seen) => seen.includes("tool-input-available"));
    const result = { toolCallId: toolCallOf(held.chunks()), result: { approved: "loud" } };
    expect((await post(world, "/stream/chat-1/results", { ...result, toolCallId: "other" })).status).toBe(404);
    expect((await post(world, "/stream/chat-1/results", { toolCallId: "other" })).status).toBe(400);
    await expect.poll(async () => (await post(world, "/stream/chat-1/results", result)).status).toBe(200);
    await held.over;
    expect(held.chunks()).toContainEqual(expect.objectContaining({ output: { approved: "loud" } }));
    expect((await post(world, "/stream/chat-1/results", result)).status).toBe(200);
  });

  it("shows nothing of what follows the answer to a reader who was signed out meanwhile", async () => {
    let who: string | undefined = "ann";
    const isReader = ({ headers }: Request) => headers.get("x-reader") === "yes";
    const world = await openWorld({ server: { authenticate: (request) => (isReader(request) ? who : "ann") } });
    const headers = { "x-reader": "yes" };
    const held = reader(await post(world, "/stream", body("pay"), headers));
    await held.until(isAsked);
    const again = reader(await fetch(`${world.server.url}/stream/chat-1/stream?hold=1`, { headers }));
    await again.until(isAsked);
    const still = await resumed(world);
    who = undefined;
    await decide(world, held.asked(), true);
    await Promise.all([held.over, again.over, still.over]);
    for (const cut of [held, again]) expect([cut.end(), cut.types().at(-1)]).toEqual(["cut", "finish-step"]);
    expect([still.end(), still.types().at(-1)]).toEqual(["done", "finish"]);
    const refused = await fetch(`${world.server.url}/stream/chat-1/stream?hold=1`, { headers });
    expect(refused.status).toBe(401);
  });

  // The listeners of one process.
  it.runIf(nodeCount === 1)("leaves nothing behind when it is cut", async () => {
    let who: string | undefined = "ann";
    const world = await openWorld({ server: { authenticate: () => who } });
    const listeners = () => getEventListeners(world.bridge.stopping, "abort").length;
    const before = listeners();
    const held = await say(world, "pay");
    await held.until(isAsked);
    expect(listeners()).toBe(before + 1);
    who = undefined;
    await world.bridge.decide("ann", { approvalId: held.asked(), approved: true });
    await held.over;
    expect([held.end(), listeners()]).toEqual(["cut", before]);
  });

  it("is counted as a request until it ends", async () => {
    const world = await openWorld({ server: { limits: { requests: 1 } } });
    const held = await say(world, "pay");
    await held.until(isAsked);
    expect((await get(world, "/approvals")).status).toBe(503);
  });
});

describe("a held stream that is resumed", () => {
  it("goes on after any of its events without a lost or doubled chunk", async () => {
    const world = await openWorld();
    const whole = await say(world, "pay");
    await whole.until(isAsked);
    const early = await resumed(world, whole.events[2]!.id);
    await decide(world, whole.asked(), true);
    await whole.over;
    await early.over;
    expect(early.chunks()).toEqual(whole.chunks().slice(3));
    for (const [index, { id }] of whole.events.entries()) {
      if (id === undefined) continue;
      const rest = await resumed(world, id);
      await rest.over;
      expect([rest.chunks(), rest.end()], `after ${id}`).toEqual([whole.chunks().slice(index + 1), "done"]);
    }
  });

  it.each(majors)("begins with the whole message for a reader without one, on %s", async (_, ai) => {
    const world = await openWorld();
    const first = await say(world, "pay");
    await first.until(isAsked);
    const reloaded = await resumed(world);
    await reloaded.until(isAsked);
    const before = reloaded.events.length;
    expect(reloaded.types()).toEqual([...question, "finish-step"]);
    const again = await resumed(world, reloaded.events.at(-1)!.id);
    await decide(world, first.asked(), true);
    await Promise.all([reloaded.over, again.over]);
    expect([...reloaded.types().slice(before - 1)]).toEqual(first.types().slice(before - 1));
    expect(again.chunks()).toEqual(reloaded.chunks().slice(before));
    expect(await resume(world)).toBe(204);
    const [start, ...rest] = again.chunks().filter(({ type }) => type !== "tool-output-available");
    expect(start).toBeDefined();
    await validateOn(ai, [{ type: "start", messageId: "m" }, ...rest]);
  });

  it("begins again if a crash has withdrawn what the reader has", async () => {
    const held = gate();
    const slow = { when: afterTools.when!, say: [text("One two "), pause(held.opened), text("three.")] };
    const world = await openWorld({ rules: [slow, ...payRules] });
    const first = await say(world, "pay");
    await first.until(isAsked);
    await decide(world, first.asked(), true);
    await first.until((seen) => seen.includes("text-delta"));
    await world.crash();
    held.open();
    await first.over;
    expect(first.end()).toBe("cut");
    const after = first.events.findLast(({ id }) => id !== undefined)?.id;
    const again = await resumed(world, after);
    await again.over;
    expect([again.types()[0], again.end()]).toEqual(["start", "done"]);
    expect(world.payments).toHaveLength(1);
  });

  it("begins with the whole message also when the chunks of its turn have been removed", async () => {
    const world = await openWorld({ bridge: { retention: { chunksMs: 0 } } });
    const first = await say(world, "pay");
    await first.until(isAsked);
    world.clock.now += 1000;
    await world.bridge.sweep();
    const reloaded = await resumed(world);
    await reloaded.until(isAsked);
    const again = await resumed(world, reloaded.events.at(-1)!.id);
    await decide(world, first.asked(), true);
    await Promise.all([reloaded.over, again.over, first.over]);
    const rest = ["tool-output-available", ...words];
    expect([short(reloaded.types()), reloaded.end()]).toEqual([[...question, "finish-step", ...rest], "done"]);
    for (const other of [again, first]) expect(short(other.types()).slice(-rest.length)).toEqual(rest);
  });
});
