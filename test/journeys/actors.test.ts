/** Owner and actor: whose chat it is, who asked, and who may decide, over every wire and on both stores. */
import { type Authorize, type Logger, silentLogger } from "adk-stream-protocol";
import type { ApprovalView } from "adk-stream-protocol/protocol";
import { verifyAudit } from "adk-stream-protocol/stores";
import { call, type Rule, text } from "adk-stream-protocol/testing";
import type { UIMessageChunk } from "ai";
import { afterEach, describe, expect, it, test } from "vitest";
import { nodeCount } from "../fixtures/nodes.ts";
import { endSockets, openSocket, type RawSocket } from "../fixtures/raw-socket.ts";
import { storeKinds } from "../fixtures/store-kinds.ts";
import {
  afterTools,
  answer,
  asked,
  openWorld,
  payRules,
  post,
  receive,
  say,
  sequence,
  userMessage,
  type World,
  type WorldOptions,
} from "../fixtures/world.ts";

afterEach(endSockets);

/** `x-person: owner/actor`; without a slash both are the same. */
const authenticate = (request: Request) => {
  const [owner, actor] = (request.headers.get("x-person") ?? "").split("/");
  return owner ? { owner, ...(actor !== undefined && { actor }) } : undefined;
};
const as = (person: string) => ({ headers: { "x-person": person } });

/** The requester may not decide; the manager may. */
const fourEyes: Authorize = (actor, { requestedBy }) => actor === "manager" && actor !== requestedBy;

function openOffice(options: WorldOptions & { authorize?: unknown; logger?: Logger } = {}): Promise<World> {
  const { authorize, logger = silentLogger, ...rest } = options;
  return openWorld({
    ...rest,
    bridge: { authorize: authorize as Authorize, logger, ...rest.bridge },
    server: { authenticate, logger, ...rest.server },
  });
}

const decideAs = async (world: World, person: string, id: string, approved = true) => {
  const response = await post(world, `/approvals/${id}`, { approved }, as(person).headers);
  return { status: response.status, body: await response.text() };
};
const list = async (world: World, person: string, query = "") => {
  const response = await fetch(`${world.server.url}/approvals${query}`, as(person));
  return ((await response.json()) as { approvals: ApprovalView[] }).approvals;
};
const rowsOf = async (world: World, owner: string) => {
  const rows = await world.store.listApprovals({ owner });
  return Promise.all(rows.map(async (row) => ({ ...row, audit: await world.store.audit(row.chat) })));
};
const settled = async (world: World, person: string) => {
  for (;;) {
    const rows = await list(world, person, "?chat=chat-1");
    if (rows.every(({ state }) => !["pending", "approved", "executing"].includes(state))) return rows;
    await new Promise((resolve) => setImmediate(resolve));
  }
};
/** What a message over one of the wires is, and the answer of its sender. */
const wires = ["SSE", "chat wire", "AI SDK wire"] as const;

describe.each(storeKinds)("two actors ($name)", ({ options }) => {
  it("a manager of another owner decides; row, card and audit name who asked and who decided", async () => {
    const world = await openOffice({ ...options(), authorize: fourEyes });
    const { approvalId } = asked(await say(world, "pay", as("alice")));
    expect((await decideAs(world, "alice", approvalId)).status).toBe(404);
    expect(world.payments).toEqual([]);
    const { status, body } = await decideAs(world, "manager", approvalId);
    expect(status).toBe(200);
    expect(JSON.parse(body)).toMatchObject({
      approval: { owner: "alice", requestedBy: "alice", decidedBy: "manager" },
    });
    const [card] = await settled(world, "alice");
    expect(card).toMatchObject({ state: "succeeded", requestedBy: "alice", decidedBy: "manager" });
    expect(world.payments).toHaveLength(1);

    await world.restart();
    const [row] = await rowsOf(world, "alice");
    expect(row).toMatchObject({ requestedBy: "alice", decidedBy: "manager", state: "succeeded" });
    expect(row!.audit.map(({ event, by }) => [event, by]).slice(0, 2)).toEqual([
      ["create", "alice"],
      ["approve", "manager"],
    ]);
    expect(verifyAudit(row!.audit)).toBeUndefined();
  });

  it("a call in a continuation comes from the message that began the turn, not from who decided", async () => {
    const rules: Rule[] = [
      {
        when: ({ responses }) => responses.length === 1,
        say: [call("process_payment", { amount: 2, recipient: "Second" })],
      },
      ...payRules,
    ];
    const world = await openOffice({ ...options(), rules, authorize: fourEyes });
    const { approvalId } = asked(await say(world, "pay", as("team/bob")));
    await decideAs(world, "manager", approvalId);
    await expect.poll(async () => (await list(world, "team/bob", "?state=pending")).length).toBe(1);
    const [, second] = await rowsOf(world, "team");
    expect(second).toMatchObject({ requestedBy: "bob", owner: "team", state: "pending" });
    expect(second!.audit.findLast(({ event }) => event === "create")).toMatchObject({ by: "bob" });
    // Another member of the team writes next: the calls of that message are theirs.
    await say(world, "pay again", as("team/carol"));
    expect((await rowsOf(world, "team")).at(-1)).toMatchObject({ requestedBy: "carol" });
  });

  it("a continuation after a crash still names who asked", async () => {
    const rules: Rule[] = [
      {
        when: ({ responses }) => responses.length === 1,
        say: [call("process_payment", { amount: 2, recipient: "Second" })],
      },
      ...payRules,
    ];
    const world = await openOffice({ ...options(), rules });
    const { approvalId } = asked(await say(world, "pay", as("team/bob")));
    // The process dies when the outcome of the first call is recorded, before the model is asked again.
    let isDead = false;
    world.dieAt(({ operation, when }) => !isDead && (isDead = operation === "appendEvent" && when === "before"));
    await decideAs(world, "team/carol", approvalId).catch(() => undefined);
    await expect.poll(() => isDead).toBe(true);
    await world.crash();
    await expect.poll(async () => (await rowsOf(world, "team")).length).toBe(2);
    expect((await rowsOf(world, "team")).map(({ requestedBy, decidedBy }) => [requestedBy, decidedBy])).toEqual([
      ["bob", "carol"],
      ["bob", undefined],
    ]);
  });

  it("rows that wait for a result, and those of an agent's own calls, name who asked", async () => {
    const world = await openOffice(options());
    await say(world, "music", as("team/bob"));
    expect(await rowsOf(world, "team")).toMatchObject([{ toolName: "change_bgm", gated: false, requestedBy: "bob" }]);
  });
});

describe("without a hook", () => {
  it("every actor of the owner may decide, and no other", async () => {
    const world = await openOffice();
    const { approvalId } = asked(await say(world, "pay", as("team/bob")));
    for (const person of ["bob", "manager", "team2/bob", "other/team"])
      expect((await decideAs(world, person, approvalId)).status).toBe(404);
    expect(await list(world, "manager", "?state=pending")).toEqual([]);
    expect((await decideAs(world, "team/carol", approvalId)).status).toBe(200);
    expect(await settled(world, "team/bob")).toMatchObject([{ decidedBy: "carol", requestedBy: "bob" }]);
  });
});

describe("a decision that is not allowed", () => {
  it("reads like a missing approval over HTTP, for the owner and for strangers", async () => {
    const world = await openOffice({ authorize: fourEyes });
    const { approvalId } = asked(await say(world, "pay", as("alice")));
    const unknown = `apr_${crypto.randomUUID()}`;
    for (const person of ["alice", "mallory"])
      for (const approved of [true, false]) {
        const refused = await decideAs(world, person, approvalId, approved);
        const missing = await decideAs(world, person, unknown, approved);
        expect(refused.status).toBe(404);
        expect(refused.body.replaceAll(approvalId, "ID")).toBe(missing.body.replaceAll(unknown, "ID"));
      }
    expect(world.payments).toEqual([]);
  });

  test.each(wires)("reads like a missing approval over the %s, and decides nothing beside it", async (wire) => {
    // Alice may deny and may pay Alice; what goes to Bob is the manager's.
    const authorize: Authorize = (actor, { input }, { approved }) =>
      actor === "manager" || !approved || (input as { recipient: string }).recipient === "Alice";
    const world = await openOffice({ authorize });
    const send = await clientOn(wire, world, "alice");
    const question = await send(userMessage("two payments"));
    const [first, second] = [asked(question, 0), asked(question, 1)];
    const { messageId } = first;
    const answered = (list_: { approvalId: string; toolCallId: string }[]) => ({
      id: messageId,
      role: "assistant" as const,
      parts: list_.map(({ approvalId, toolCallId }) => ({
        type: "tool-process_payment",
        toolCallId,
        state: "approval-responded",
        input: {},
        approval: { id: approvalId, approved: true },
      })),
    });
    const refused = await send(answered([first, second]));
    const unknown = { approvalId: "apr_unknown", toolCallId: "call_unknown" };
    const missing = await send(answered([first, unknown]));
    expect(refused.body).toContain(`There is no approval ${second.approvalId} here.`);
    expect(refused.body.replaceAll(second.approvalId, "ID")).toBe(missing.body.replaceAll("apr_unknown", "ID"));
    expect((await list(world, "alice", "?chat=chat-1")).map(({ state }) => state)).toEqual(["pending", "pending"]);
    expect(world.payments).toEqual([]);

    // What she may decide, she can.
    await send(answered([first]));
    await decideAs(world, "manager", second.approvalId);
    expect((await settled(world, "alice")).map(({ decidedBy }) => decidedBy)).toEqual(["alice", "manager"]);
    expect(world.payments).toHaveLength(2);
  });

  it("is refused in a tool_result frame too, by either id", async () => {
    const world = await openOffice({ authorize: fourEyes });
    const client = await openSocket(world, "", as("alice"));
    client.send({ type: "message", id: "chat-1", messages: [userMessage("pay")] });
    const { approvalId, toolCallId } = asked(await client.question());
    for (const frame of [{ toolCallId: approvalId }, { toolCallId, id: "chat-1" }]) {
      client.send({ type: "tool_result", ...frame, result: { confirmed: true, approved: true } });
      expect(await refusalOn(client)).toEqual([
        { type: "error", errorText: `There is no approval ${frame.toolCallId} here.` },
      ]);
    }
    expect(world.payments).toEqual([]);
    expect((await decideAs(world, "manager", approvalId)).status).toBe(200);
    expect(sequence(await client.turn())).toBe("toa ss text fs finish [DONE]");
  });

  test.each<[string, unknown]>([
    ["throws", () => Promise.reject(new Error("secret: no database"))],
    [
      "throws at once",
      () => {
        throw new Error("secret");
      },
    ],
    ["returns nothing", () => undefined],
    ["returns a truthy value", () => "yes"],
    ["returns 1", async () => 1],
  ])("a hook that %s allows nothing, and the log says so", async (_name, authorize) => {
    const warnings: string[] = [];
    const logger: Logger = { ...silentLogger, warn: (words) => void warnings.push(words) };
    const world = await openOffice({ authorize, logger });
    const question = asked(await say(world, "pay", as("alice")));
    expect((await decideAs(world, "alice", question.approvalId)).status).toBe(404);
    expect((await answer(world, [{ ...question, approved: true }], as("alice"))).status).toBe(404);
    expect(await list(world, "manager", "?state=pending")).toEqual([]);
    expect(world.payments).toEqual([]);
    expect(new Set(warnings)).toEqual(new Set(["The authorize hook failed; what it was asked about is not allowed."]));
  });

  it("a hook cannot change what it is asked about", async () => {
    const authorize: Authorize = (_actor, approval, decision) => {
      Object.assign(approval, { id: "x", owner: "mallory", input: { amount: 1e6 } });
      Object.assign(decision, { approved: true });
      return true;
    };
    const world = await openOffice({ authorize });
    const { approvalId } = asked(await say(world, "pay", as("alice")));
    expect(JSON.parse((await decideAs(world, "alice", approvalId, false)).body)).toMatchObject({ state: "denied" });
    expect(world.payments).toEqual([]);
  });

  it("does not keep a requester from repeating what the manager decided, with a result of their own", async () => {
    const rules: Rule[] = [
      afterTools,
      {
        when: /both/,
        say: [call("process_payment", { amount: 5, recipient: "Ann" }), call("change_bgm", { track: 1 })],
      },
      { say: [text("Hello.")] },
    ];
    const world = await openOffice({ rules, authorize: fourEyes });
    const question = await say(world, "both", as("alice"));
    const { approvalId, toolCallId, messageId } = asked(question);
    await decideAs(world, "manager", approvalId);
    await expect.poll(() => world.payments.length).toBe(1);
    const music = question.chunks.flatMap((chunk) =>
      chunk.type === "tool-input-available" && chunk.toolName === "change_bgm" ? [chunk.toolCallId] : [],
    );
    const parts = [
      {
        type: "tool-process_payment",
        toolCallId,
        state: "output-available",
        output: { success: true },
        approval: { id: approvalId, approved: true },
      },
      { type: "tool-change_bgm", toolCallId: music[0], state: "output-available", output: { playing: 1 } },
    ];
    const body = { id: "chat-1", messageId, messages: [{ id: messageId, role: "assistant", parts }] };
    const reply = await receive(await post(world, "/stream", body, as("alice").headers));
    expect(reply.status).toBe(200);
    expect((await world.store.listApprovals({ owner: "alice" })).map(({ state }) => state)).toEqual([
      "succeeded",
      "succeeded",
    ]);
  });
});

describe("what an actor may decide", () => {
  it("is listed with the waiting approvals, with whose they are; nothing else of other owners is", async () => {
    const authorize: Authorize = (actor, { owner, requestedBy }) =>
      actor === "manager" ? owner !== "bob" : actor === requestedBy;
    const world = await openOffice({ authorize });
    const hers = asked(await say(world, "pay", as("alice")));
    world.clock.now += 1;
    const own = asked(await say(world, "pay", as("manager")));
    world.clock.now += 1;
    await say(world, "pay", as("bob"));
    await say(world, "where", as("carol"));
    const waiting = await list(world, "manager", "?state=pending");
    expect(waiting.map(({ owner, requestedBy, toolName }) => [owner, requestedBy, toolName])).toEqual([
      ["alice", "alice", "process_payment"],
      ["manager", "manager", "process_payment"],
      ["carol", "carol", "get_location"],
    ]);
    expect(waiting[0]!.id).toBe(hers.approvalId);
    for (const query of ["", "?chat=chat-1", "?chat=chat-1&state=pending", "?state=succeeded"])
      expect((await list(world, "manager", query)).every(({ owner }) => owner === "manager")).toBe(true);
    expect((await list(world, "mallory", "?state=pending")).length).toBe(0);
    await decideAs(world, "manager", hers.approvalId);
    await decideAs(world, "manager", own.approvalId);
    await settled(world, "alice");
    expect((await list(world, "manager", "?state=pending")).map(({ owner }) => owner)).toEqual(["carol"]);
  });

  it("does not open the chat: its messages, streams and stop stay the owner's", async () => {
    const world = await openOffice({ authorize: fourEyes });
    const question = asked(await say(world, "pay", as("alice")));
    for (const [method, path] of [
      ["GET", "/stream/chat-1/messages"],
      ["POST", "/stream/chat-1/stop"],
    ])
      expect((await fetch(world.server.url + path, { method, ...as("manager") })).status).toBe(404);
    expect((await answer(world, [{ ...question, approved: true }], as("manager"))).status).toBe(404);
    expect(world.payments).toEqual([]);
  });

  it("looks at a bounded number of rows, a few at once", async () => {
    let running = 0;
    let most = 0;
    let all = 0;
    const authorize: Authorize = async (actor, { requestedBy }) => {
      all += 1;
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return actor === "manager" && requestedBy === "actor-599";
    };
    const world = await openOffice({ authorize });
    const ask = async (index: number) => {
      const chat = await world.store.openChat({ owner: `owner-${index}`, name: "chat", appName: "root_agent" });
      await world.store.holdChat(chat.id, 60_000);
      const rest = { ttlMs: 60_000, startMs: 1000, external: false, gated: true, state: "pending" } as const;
      const call_ = { toolCallId: "c", toolName: "pay", input: "{}", digest: "d", messageId: "m", agent: "a" };
      await world.store.createApproval({
        ...{ ...rest, ...call_, id: `apr_${index}`, chat: chat.id, session: chat.id, owner: chat.owner },
        ...{ mode: "request", effect: "opaque", requestedBy: `actor-${index}` },
      });
    };
    await Promise.all(Array.from({ length: 599 }, (_, index) => ask(index)));
    await ask(599);
    expect((await list(world, "manager", "?state=pending")).map(({ id }) => id)).toEqual(["apr_599"]);
    expect(all).toBeLessThanOrEqual(1000);
    expect(most).toBeLessThanOrEqual(8);
  });
});

it("names the actors over a live connection too", async () => {
  const world = await openOffice({ authorize: fourEyes });
  const client = await openSocket(world, "", as("team/bob"));
  client.send({ type: "message", id: "chat-1", messages: [userMessage("pay")] });
  const { approvalId } = asked(await client.question());
  expect((await decideAs(world, "manager", approvalId)).status).toBe(200);
  expect((await client.turn()).chunks).toContainEqual(
    expect.objectContaining({
      type: "data-approval",
      data: expect.objectContaining({ state: "succeeded", decidedBy: "manager" }),
    }),
  );
  expect(await rowsOf(world, "team")).toMatchObject([{ mode: "live", requestedBy: "bob", decidedBy: "manager" }]);
});

it("a call whose outcome is not known is resolved by someone who may approve it, by name", async () => {
  const world = await openOffice({ authorize: fourEyes });
  const { approvalId } = asked(await say(world, "where", as("alice")));
  await decideAs(world, "manager", approvalId);
  world.clock.now += 25 * 3_600_000;
  await world.bridge.sweep();
  expect(await rowsOf(world, "alice")).toMatchObject([{ state: "indeterminate" }]);
  const resolveAs = async (person: string, id: string) => {
    const response = await post(world, `/approvals/${id}/resolution`, { happened: false }, as(person).headers);
    return { status: response.status, body: (await response.text()).replaceAll(id, "ID") };
  };
  expect(await resolveAs("alice", approvalId)).toEqual(await resolveAs("alice", "apr_unknown"));
  expect((await resolveAs("mallory", approvalId)).status).toBe(404);
  expect((await resolveAs("manager", approvalId)).status).toBe(200);
  const [row] = await rowsOf(world, "alice");
  expect(row).toMatchObject({ state: "failed", decidedBy: "manager", resolvedBy: "manager" });
  expect(row!.audit.at(-1)).toMatchObject({ event: "fail", by: "manager" });
});

it("X31: a wrong identity creates no chat, on any wire", async () => {
  for (const identity of [["alice"], 7, { owner: ["alice"] }, { owner: "alice", actor: 7 }]) {
    const errors: string[] = [];
    const logger: Logger = { ...silentLogger, error: (words) => void errors.push(words) };
    const world = await openOffice({ logger, server: { authenticate: () => identity as never } });
    expect((await say(world, "pay")).status).toBe(401);
    await expect(openSocket(world)).rejects.toThrow("401");
    expect(errors).toHaveLength(2);
    expect(errors.join()).toMatch(/authenticate must return the (owner|actor) as/);
    expect(world.gemini.requests).toHaveLength(0);
  }
});

it("options that are not functions are refused at start", async () => {
  await expect(openWorld({ bridge: { authorize: "manager" as never } })).rejects.toThrow(
    "The option authorize must be",
  );
  await expect(openWorld({ server: { authenticate: "alice" as never } })).rejects.toThrow(
    "The option authenticate must be",
  );
});

/**
 * The chunks of a refusal. A question is shown before the end of its turn is in the log. With a database, a refusal may come
 * in between, as a `data-refusal`.
 */
async function refusalOn(client: RawSocket): Promise<UIMessageChunk[]> {
  if (nodeCount === 1) return (await client.turn()).chunks;
  const { chunks } = await client.until(
    (received) => received.done > 0 || received.chunks.some(({ type }) => type === "data-refusal"),
  );
  return chunks.map(toError);
}

const toError = (chunk: UIMessageChunk): UIMessageChunk =>
  chunk.type === "data-refusal" ? { type: "error", errorText: (chunk.data as { message: string }).message } : chunk;

type Sent = { role: string; id?: string; parts: unknown[] };
type Reply = Awaited<ReturnType<typeof receive>>;

/** Sends messages of one person in `chat-1` over a wire, and resolves with the reply up to its end or its question. */
async function clientOn(
  wire: (typeof wires)[number],
  world: World,
  person: string,
): Promise<(sent: Sent) => Promise<Reply>> {
  const body = (sent: Sent) => ({
    id: "chat-1",
    messages: [sent],
    ...(sent.role === "assistant" && { messageId: sent.id }),
  });
  if (wire === "SSE") return async (sent) => receive(await post(world, "/stream", body(sent), as(person).headers));
  const client = await openSocket(world, "", as(person));
  if (wire === "chat wire")
    return async (sent) => {
      client.send({ type: "message", ...body(sent) });
      const received = await client.until(
        ({ chunks, done }) =>
          done > 0 ||
          chunks.some(({ type }) => type === "tool-output-available" || type === "data-refusal") ||
          (chunks.filter(({ type }) => type === "tool-approval-request").length === 2 &&
            chunks.at(-1)?.type === "finish-step"),
      );
      const refusal = received.chunks.find(({ type }) => type === "error" || type === "data-refusal");
      return nodeCount > 1 && refusal ? { ...received, body: JSON.stringify(toError(refusal)) } : received;
    };
  let count = 0;
  return async (sent) => {
    const requestId = `r${++count}`;
    client.send({ type: "send", requestId, ...body(sent) });
    const { controls } = await client.until(({ controls: got }) =>
      got.some(({ type }) => type === "end" || type === "error"),
    );
    const chunks = controls.flatMap(({ chunk }) => (chunk === undefined ? [] : [chunk as Reply["chunks"][number]]));
    const refusal = controls.find(({ type }) => type === "error")?.["errorText"];
    return { status: 101, chunks, done: 1, ids: [], body: typeof refusal === "string" ? refusal : "" };
  };
}
