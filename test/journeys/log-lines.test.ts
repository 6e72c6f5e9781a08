/** What the log says of calls, for every way in which one can go, and what no line may say. */
import { FunctionTool, LongRunningFunctionTool } from "@google/adk";
import type { Logger } from "adk-stream-protocol";
import { postgresStore } from "adk-stream-protocol/stores/postgres";
import { call, gate, type Rule, text } from "adk-stream-protocol/testing";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { nodeCount } from "../fixtures/nodes.ts";
import { type TestDatabase, testDatabase } from "../fixtures/postgres.ts";
import { type StoreKind, storeKinds } from "../fixtures/store-kinds.ts";
import { asked, openWorld, post, quiet, say } from "../fixtures/world.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());
afterEach(() => database.empty());

const postgres: StoreKind = {
  name: "PostgreSQL",
  options: () => ({ reopen: true, store: (now) => postgresStore({ url: database.url, now, connections: 4 }) }),
};
const kinds = nodeCount > 1 ? storeKinds : [...storeKinds, postgres];

/** What only the ledger may have. Each is somewhere in a story. */
const secrets = {
  argument: "argument-of-the-call",
  reason: "reason-of-the-person",
  result: "result-of-the-tool",
  failure: "failure-of-the-tool",
  owner: "owner@example.com",
  actor: "actor@example.com",
  token: "token-of-the-session",
  words: "words-of-the-user",
};
const headers = { authorization: `Bearer ${secrets.token}` };
const hour = 60 * 60_000;

interface Line {
  level: keyof Logger;
  message: string;
  fields: Record<string, unknown> | undefined;
}

const told: Rule = { when: ({ responses, fresh }) => !fresh && responses.length > 0, say: [text("I see.")] };
const calling = (name: string): Rule => ({
  when: new RegExp(`^${name}\\b`),
  say: [call(name, { to: secrets.argument })],
});
const names = ["pay", "fail", "hang", "repeat", "deploy", "start", "read", "small"] as const;

async function open({ options }: StoreKind, { allows = true } = {}) {
  const lines: Line[] = [];
  const write =
    (level: keyof Logger): Logger[typeof level] =>
    (message, fields) =>
      void lines.push({ level, message, fields });
  const logger: Logger = { info: write("info"), warn: write("warn"), error: write("error") };
  const begun = gate();
  const parameters = z.object({ to: z.string() });
  const tool = (name: string, execute: () => unknown, requireConfirmation = true) =>
    new FunctionTool({ name, description: name, parameters, requireConfirmation, execute });
  let attempts = 0;
  const hang = (): Promise<never> => {
    begun.open();
    return new Promise(() => undefined);
  };
  const long = (name: string, requireConfirmation: boolean) =>
    new LongRunningFunctionTool({ name, description: name, parameters, requireConfirmation, execute: () => undefined });
  const world = await openWorld({
    ...options(),
    rules: [told, ...names.map(calling), { say: [text("All right.")] }],
    tools: [
      tool("pay", () => ({ receipt: secrets.result })),
      tool("fail", () => {
        throw new Error(secrets.failure);
      }),
      tool("hang", hang),
      tool("repeat", () => ((attempts += 1) === 1 ? hang() : { receipt: secrets.result })),
      long("deploy", true),
      long("start", false),
      tool("read", () => ({ read: secrets.result }), false),
      tool("small", () => ({ receipt: secrets.result }), false),
    ],
    bridge: {
      logger,
      drainMs: 20,
      tools: { repeat: { effect: "idempotent" }, deploy: { reportMs: hour }, small: { confirm: () => false } },
      authorize: () => allows,
    },
    server: {
      logger,
      authenticate: () => ({ owner: secrets.owner, actor: secrets.actor }),
    },
  });
  const tell = (words: string) => say(world, `${words} ${secrets.words}`, { headers });
  const send = (path: string, body: object) => post(world, path, body, headers);
  const settled = () => quiet(world);
  return {
    ...{ world, lines, begun: begun.opened, tell, send, settled },
    /** Calls a tool and answers the question. */
    async answer(name: string, approved: boolean): Promise<string> {
      const { approvalId } = asked(await tell(name));
      expect((await send(`/approvals/${approvalId}`, { approved, reason: secrets.reason })).status).toBe(200);
      return approvalId;
    },
    /** The lines about calls, as short words, and whether each has what it must and may have. */
    changes() {
      for (const { level, message, fields = {} } of lines.filter((line) => line.fields?.["event"])) {
        expect(level).toBe("info");
        expect(message).toMatch(/^[A-Z].*\.$/);
        expect(fields).toMatchObject({
          approval: expect.stringMatching(/^apr_/),
          chat: expect.any(String),
          mode: "request",
        });
        expect(names).toContain(fields["tool"]);
      }
      return lines.flatMap(({ fields: { event, state } = {} }) => (event ? [[event, state].join(" ")] : []));
    },
  };
}

type Story = Awaited<ReturnType<typeof open>>;

/** Nothing that was said, given or returned is in a line, and no field that the manual does not name. */
function expectDiscreet({ lines }: Story): void {
  const written = JSON.stringify(lines);
  for (const [name, secret] of Object.entries(secrets)) expect([name, written.includes(secret)]).toEqual([name, false]);
  const known = ["event", "approval", "chat", "tool", "state", "mode", "fence", "delayMs", "approved"];
  for (const { level, fields } of lines)
    if (level === "info") expect(known).toEqual(expect.arrayContaining(Object.keys(fields ?? {})));
}

const stories: Record<string, { tell: (story: Story) => Promise<unknown>; expected: string[] }> = {
  "a yes": {
    tell: (story) => story.answer("pay", true),
    expected: ["create pending", "approve approved", "claim executing", "succeed succeeded"],
  },
  "a no": { tell: (story) => story.answer("pay", false), expected: ["create pending", "deny denied"] },
  "a question that no one answers": {
    async tell({ tell, world }) {
      await tell("pay");
      world.clock.now += hour;
      await world.bridge.sweep();
    },
    expected: ["create pending", "expire expired"],
  },
  "a question that new words cancel": {
    async tell({ tell }) {
      await tell("pay");
      await tell("hello");
    },
    expected: ["create pending", "cancel cancelled"],
  },
  "a call that fails": {
    tell: (story) => story.answer("fail", true),
    expected: ["create pending", "approve approved", "claim executing", "fail failed"],
  },
  "a call of which no one knows the outcome, until a person says so": {
    async tell(story) {
      const { world, begun, send, settled } = story;
      const id = await story.answer("hang", true);
      await begun;
      await world.crash();
      world.clock.now += hour;
      await world.bridge.sweep();
      await settled();
      const said = { happened: true, outcome: { receipt: secrets.result }, reason: secrets.reason };
      expect((await send(`/approvals/${id}/resolution`, said)).status).toBe(200);
    },
    expected: ["create pending", "approve approved", "claim executing", "lose indeterminate", "succeed succeeded"],
  },
  "a call that is made again after a crash": {
    async tell(story) {
      const { world, begun } = story;
      await story.answer("repeat", true);
      await begun;
      await world.crash();
      world.clock.now += hour;
      await world.bridge.sweep();
    },
    expected: ["create pending", "approve approved", "claim executing", "reclaim executing", "succeed succeeded"],
  },
  "a report": {
    async tell(story) {
      const id = await story.answer("deploy", true);
      await story.settled();
      expect((await story.send(`/calls/${id}`, { result: { url: secrets.result } })).status).toBe(200);
    },
    expected: ["create pending", "approve approved", "claim executing", "begin waiting", "succeed succeeded"],
  },
  "a report of a failure": {
    async tell(story) {
      const id = await story.answer("deploy", true);
      await story.settled();
      expect((await story.send(`/calls/${id}`, { error: secrets.failure })).status).toBe(200);
    },
    expected: ["create pending", "approve approved", "claim executing", "begin waiting", "fail failed"],
  },
  "a report that never comes": {
    async tell(story) {
      await story.answer("deploy", true);
      await story.settled();
      story.world.clock.now += hour;
      await story.world.bridge.sweep();
    },
    expected: ["create pending", "approve approved", "claim executing", "begin waiting", "lose indeterminate"],
  },
  "a call that no one is asked about, and that has not ended": {
    tell: ({ tell }) => tell("start"),
    expected: ["create approved", "claim executing", "begin waiting"],
  },
  "calls that no one is asked about, one of them by a policy": {
    async tell({ tell }) {
      await tell("read");
      await tell("small");
    },
    // They have no approval. Their spans and the chat say that they ran.
    expected: [],
  },
};

describe.each(kinds)("the log on $name", (kind) => {
  it.each(Object.entries(stories))("has a line for each step of %s, and no secrets", async (_what, story) => {
    const opened = await open(kind);
    await story.tell(opened);
    await opened.settled();
    expect(opened.changes()).toEqual(story.expected);
    expectDiscreet(opened);
  });

  it("says that a decision was not allowed, and not whose it was", async () => {
    const opened = await open(kind, { allows: false });
    const { approvalId } = asked(await opened.tell("pay"));
    const { status } = await opened.send(`/approvals/${approvalId}`, { approved: true, reason: secrets.reason });
    expect(status).toBe(404);
    expect(opened.lines.at(-1)).toEqual({
      level: "info",
      message: "A decision was not allowed.",
      fields: { approval: approvalId, approved: true },
    });
    expectDiscreet(opened);
  });
});
