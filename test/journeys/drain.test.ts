/** A server that stops in order: probes say so, clients are sent elsewhere, and the next process goes on. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ApprovalView } from "adk-stream-protocol/protocol";
import { memoryStore } from "adk-stream-protocol/stores/memory";
import { gate, pause, type Rule, startScriptedGemini, text } from "adk-stream-protocol/testing";
import type { UIMessage } from "ai";
import { afterEach, describe, expect, it, vi } from "vitest";
import { faulty } from "../fixtures/faulty-store.ts";
import { startKillServer } from "../fixtures/kill-process.ts";
import { endSockets, liveUrl, openSocket, refusedHandshake } from "../fixtures/raw-socket.ts";
import { asked, get, openSlowWorld, openWorld, payRules, post, receive, userMessage } from "../fixtures/world.ts";
import { answer, messagesOf, quiet, say } from "../fixtures/world.ts";

afterEach(endSockets);

const bodyOf = (words: string, chat = "chat-1") => ({ id: chat, messages: [userMessage(words)] });
const textsOf = (messages: UIMessage[]) =>
  messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "text" ? [part.text] : [])));

/** Reads until the connection ends. True in `wasCut` if it ended before the reply did. */
async function readUntilCut(response: Response): Promise<{ body: string; wasCut: boolean }> {
  const decoder = new TextDecoder();
  let body = "";
  try {
    for await (const piece of response.body!) body += decoder.decode(piece, { stream: true });
    return { body, wasCut: false };
  } catch {
    return { body, wasCut: true };
  }
}

describe("probes", () => {
  it("are answered without a user, over GET and HEAD, and by no cache", async () => {
    const world = await openWorld({ server: { authenticate: () => undefined } });
    for (const path of ["/health", "/ready"]) {
      const reply = await fetch(world.server.url + path);
      expect([reply.status, reply.headers.get("cache-control"), await reply.text()]).toEqual([
        200,
        "no-store",
        '{"ok":true}',
      ]);
      const head = await fetch(world.server.url + path, { method: "HEAD" });
      expect([head.status, head.headers.get("content-length"), await head.text()]).toEqual([200, "11", ""]);
    }
    expect((await fetch(`${world.server.url}/approvals`)).status).toBe(401);
  });

  it("say that the database cannot be reached, and not why", async () => {
    const world = await openWorld({ store: (now) => faulty(memoryStore({ now }), (name) => name === "check") });
    const reply = await fetch(`${world.server.url}/ready`);
    expect([reply.status, reply.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(await reply.json()).toEqual({
      code: "unavailable",
      message: "The database cannot be reached. Try again in a moment.",
    });
    expect((await fetch(`${world.server.url}/health`)).status).toBe(200);
  });
});

describe("a server that drains", () => {
  it("listens, reads go on, new turns are refused, and clients are sent elsewhere", async () => {
    const { world, started, finish } = await openSlowWorld();
    const question = asked(await say(world, "pay"));
    const follower = await openSocket(world);
    follower.send({ type: "attach", id: "chat-1" });
    await follower.until(({ controls }) => controls.length > 0);
    const reading = answer(world, [{ ...question, approved: true }]).then(
      () => "whole",
      () => "cut",
    );
    await started;

    const closing = world.bridge.close();
    expect(await reading).toBe("cut");
    expect(await follower.closed).toEqual({ code: 1012, reason: "The server restarts. Connect again." });
    // A load balancer has connections of its own.
    const { url } = world.pickServer?.() ?? world.server;
    const ready = await fetch(`${url}/ready`);
    expect([ready.status, ready.headers.get("retry-after"), ready.headers.get("connection")]).toEqual([
      503,
      "1",
      "close",
    ]);
    expect((await get(world, "/health")).status).toBe(200);
    for (const chat of ["chat-1", "chat-2"]) {
      const refused = await post(world, "/stream", bodyOf("hello", chat));
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
    }
    expect((await messagesOf(world)).length).toBeGreaterThan(0);
    // 204 would mean that the reply is over.
    expect((await fetch(`${world.server.url}/stream/chat-1/stream`)).status).toBe(503);
    expect(await refusedHandshake(liveUrl(world))).toMatchObject({ status: 503 });

    finish();
    await closing;
    expect((await fetch(`${world.server.url}/ready`)).status).toBe(503);
    await world.restart();
    await quiet(world);
    expect(world.payments).toHaveLength(1);
    expect((await get(world, "/ready")).status).toBe(200);
    expect(JSON.stringify(await messagesOf(world))).toContain('"output":{"paid":50}');
  });
});

describe("SIGTERM in the middle of a sentence", () => {
  it("ends the process, and the next one on the same file says each word once", { timeout: 60_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), "bridge-drain-"));
    const spoken = gate();
    const never = gate();
    let requests = 0;
    const rules: readonly Rule[] = [
      {
        when: ({ responses, fresh }) => !fresh && responses.length > 0,
        say: () => {
          requests += 1;
          if (requests > 1) return [text("One "), text("two "), text("three.")];
          spoken.open();
          return [text("One "), pause(never.opened), text("two.")];
        },
      },
      ...payRules.slice(1),
    ];
    const gemini = await startScriptedGemini({ rules });
    const settings = { folder, gemini: gemini.url, effect: "opaque" as const };
    const first = await startKillServer(settings);
    let second: Awaited<ReturnType<typeof startKillServer>> | undefined;
    const send = (url: string, body: unknown) =>
      fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
    const list = async (url: string) =>
      (await (await fetch(`${url}/approvals?chat=chat-1`)).json()) as { running: boolean; approvals: ApprovalView[] };
    try {
      await receive(await send(`${first.url}/stream`, bodyOf("pay")));
      const [question] = (await list(first.url)).approvals;
      const part = {
        type: "tool-process_payment",
        toolCallId: question?.toolCallId,
        state: "approval-responded",
        input: {},
        approval: { id: question?.id, approved: true },
      };
      const messages = [{ id: "any", role: "assistant", parts: [part] }];
      const reading = readUntilCut(await send(`${first.url}/stream`, { id: "chat-1", messages }));
      await spoken.opened;
      await vi.waitFor(async () => expect((await list(first.url)).running).toBe(true));
      first.child.kill("SIGTERM");
      const { body, wasCut } = await reading;
      expect({ wasCut, isEnded: /\[DONE\]|"error"/.test(body) }).toEqual({ wasCut: true, isEnded: false });
      expect(await first.ended).toEqual([0, null]);

      second = await startKillServer(settings);
      const { url } = second;
      await vi.waitFor(async () => expect((await list(url)).running).toBe(false), { timeout: 20_000 });
      const page = (await (await fetch(`${url}/stream/chat-1/messages`)).json()) as { messages: UIMessage[] };
      expect(textsOf(page.messages)).toEqual(["pay", "One two three."]);
      const payments = existsSync(join(folder, "payments")) ? readFileSync(join(folder, "payments"), "utf8") : "";
      expect(payments.trim().split("\n")).toHaveLength(1);
    } finally {
      never.open();
      first.child.kill("SIGKILL");
      second?.child.kill("SIGKILL");
      await Promise.all([first.ended, second?.ended]);
      await gemini.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

it("a turn that waits for one that is left open does not begin", async () => {
  const { world, started, finish } = await openSlowWorld({ bridge: { drainMs: 50 } });
  const questions = await say(world, "two payments");
  const decided = [0, 1].map((index) => asked(questions, index).approvalId);
  expect((await post(world, `/approvals/${decided[0]}`, { approved: true })).status).toBe(200);
  await started;
  expect((await post(world, `/approvals/${decided[1]}`, { approved: false })).status).toBe(200);
  await world.bridge.close();
  expect(await world.store.openTurns()).toHaveLength(1);
  finish();
});

it("an approved call that waits for other decisions runs before the bridge has closed", async () => {
  const slow = gate();
  let slowChat = "";
  const world = await openWorld({
    store: (now) => {
      const store = memoryStore({ now });
      const getSession = async (id: string) => {
        if (id === slowChat) await slow.opened;
        return store.getSession(id);
      };
      return { ...store, getSession };
    },
  });
  const questions = [];
  for (const chat of ["chat-1", "chat-2"]) questions.push(asked(await say(world, "pay", { chat })));
  slowChat = (await world.store.findChat("local", "chat-2", "root_agent"))?.id ?? "";
  const [first, second] = questions.map(({ approvalId }) => ({ approvalId, approved: true }));
  const other = world.bridge.decide("local", second!).catch(() => undefined);
  expect(await world.bridge.decide("local", first!)).toMatchObject({ outcome: "accepted" });
  expect(world.payments).toHaveLength(0);
  await world.bridge.close();
  expect(world.payments).toHaveLength(1);
  slow.open();
  await other;
});
