import { LongRunningFunctionTool } from "@google/adk";
import { idempotencyKey } from "adk-stream-protocol";
import type { Store } from "adk-stream-protocol/stores";
import { memoryStore } from "adk-stream-protocol/stores/memory";
import { call, text } from "adk-stream-protocol/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  asked,
  decide,
  get,
  ledger,
  openWorld,
  post,
  quiet,
  say,
  type World,
  type WorldOptions,
} from "../fixtures/world.ts";

const hour = 60 * 60_000;

async function deployed(options: Pick<WorldOptions, "store"> = {}): Promise<{ world: World; key: string }> {
  let key = "";
  const deploy = new LongRunningFunctionTool({
    name: "deploy",
    description: "Deploys.",
    parameters: z.object({}),
    requireConfirmation: true,
    execute: (_, context) => {
      key = context ? idempotencyKey(context) : "";
      return { job: 7 };
    },
  });
  const world = await openWorld({
    ...options,
    tools: [deploy],
    rules: [
      { when: ({ contents }) => contents.at(-1)?.parts?.at(-1)?.text === "deploy", say: [call("deploy")] },
      { say: [text("All right.")] },
    ],
    bridge: { tools: { deploy: { reportMs: hour } } },
    server: { authenticate: (request) => request.headers.get("x-user") ?? "local" },
  });
  await decide(world, asked(await say(world, "deploy")).approvalId, true);
  await quiet(world);
  return { world, key };
}

const read = async (response: Response) => ({ status: response.status, body: (await response.json()) as unknown });

describe("POST /calls/:key", () => {
  it("takes a report once, the same one again, and no other", async () => {
    const { world, key } = await deployed();
    const path = `/calls/${key}`;
    expect(await ledger(world)).toMatchObject([
      { state: "waiting", interim: { job: 7 }, reportBy: world.clock.now + hour },
    ]);
    expect(await read(await post(world, path, { result: { url: "a" } }))).toMatchObject({
      ...{ status: 200, body: { state: "succeeded", approval: { output: { url: "a" } } } },
    });
    expect(await read(await post(world, path, { result: { url: "a" } }))).toMatchObject({ status: 200 });
    expect(await read(await post(world, path, { error: "no" }))).toMatchObject({
      ...{ status: 409, body: { code: "conflict", state: "succeeded", approval: { output: { url: "a" } } } },
    });
    await quiet(world);
    expect(await ledger(world)).toMatchObject([{ state: "succeeded", output: { url: "a" } }]);
  });

  it.each([
    ["a value that is not an object", { result: "done" }, { result: "done" }],
    ["null", { result: null }, { result: null }],
    ["a list", { result: [1] }, { results: [1] }],
  ])("takes %s", async (_, body, output) => {
    const { world, key } = await deployed();
    expect(await read(await post(world, `/calls/${key}`, body))).toMatchObject({ status: 200 });
    expect(await ledger(world)).toMatchObject([{ output }]);
  });

  it.each([[{}], [{ result: 1, error: "no" }], [{ error: "" }], [{ error: 5 }], [[]], ["text"]])(
    "refuses %j and changes nothing",
    async (body) => {
      const { world, key } = await deployed();
      expect((await post(world, `/calls/${key}`, body)).status).toBe(400);
      expect(await ledger(world)).toMatchObject([{ state: "waiting" }]);
    },
  );

  it("knows no call of another owner, and no call that is not reported", async () => {
    const { world, key } = await deployed();
    const missing = await read(await post(world, "/calls/unknown", { result: 1 }));
    expect(missing.status).toBe(404);
    const foreign = await read(await post(world, `/calls/${key}`, { result: 1 }, { "x-user": "mallory" }));
    expect(JSON.stringify(foreign).replace(key, "unknown")).toBe(JSON.stringify(missing));
    expect(await ledger(world)).toMatchObject([{ state: "waiting" }]);
  });

  it("refuses a report after the deadline, with the state that won", async () => {
    const { world, key } = await deployed();
    world.clock.now += hour;
    expect(await read(await post(world, `/calls/${key}`, { result: 1 }))).toMatchObject({
      ...{ status: 409, body: { state: "indeterminate" } },
    });
  });
});

describe("POST /approvals/:id/resolution", () => {
  const lost = async (options?: Pick<WorldOptions, "store">) => {
    const { world, key } = await deployed(options);
    world.clock.now += hour;
    await world.bridge.sweep();
    await quiet(world);
    return { world, key, path: `/approvals/${key}/resolution` };
  };

  it("records what a person has found out", async () => {
    const { world, path } = await lost();
    expect(
      await read(await post(world, path, { happened: true, outcome: { url: "a" }, reason: "I looked." })),
    ).toMatchObject({
      status: 200,
      body: { state: "succeeded", approval: { resolvedBy: "local", output: { url: "a" } } },
    });
    expect(await read(await post(world, path, { happened: false }))).toMatchObject({
      ...{ status: 409, body: { state: "succeeded" } },
    });
    await quiet(world);
    expect(JSON.stringify((await get(world, "/stream/chat-1/messages")).body)).toContain('"output":{"url":"a"}');
  });

  it("is told to the model, also if it comes while the model is told that the outcome is not known", async () => {
    let find: (() => Promise<unknown>) | undefined;
    const store = (now: () => number): Store => {
      const inner = memoryStore({ now });
      const markTold: Store["markTold"] = async (id, as) => {
        const found = find;
        find = undefined;
        await found?.();
        return inner.markTold(id, as);
      };
      return { ...inner, markTold };
    };
    const { world, key } = await deployed({ store });
    find = () => post(world, `/approvals/${key}/resolution`, { happened: true, outcome: { url: "shop.example" } });
    world.clock.now += hour;
    await world.bridge.sweep();
    await quiet(world);
    expect(find).toBeUndefined();
    expect(await ledger(world)).toMatchObject([{ state: "succeeded" }]);
    await say(world, "hello");
    expect(JSON.stringify(world.gemini.requests.at(-1)!.contents).split("shop.example")).toHaveLength(2);
  });

  it("records that it did not happen", async () => {
    const { world, path } = await lost();
    expect(await read(await post(world, path, { happened: false, reason: "Nothing there." }))).toMatchObject({
      ...{ status: 200, body: { state: "failed", approval: { errorText: expect.stringContaining("Nothing there.") } } },
    });
  });

  it.each([[{}], [{ happened: "yes" }], [{ happened: false, outcome: 1 }], [{ happened: true, reason: 5 }]])(
    "refuses %j and changes nothing",
    async (body) => {
      const { world, path } = await lost();
      expect((await post(world, path, body)).status).toBe(400);
      expect(await ledger(world)).toMatchObject([{ state: "indeterminate" }]);
    },
  );

  it("is refused while the call waits, and for another owner", async () => {
    const { world, key } = await deployed();
    const path = `/approvals/${key}/resolution`;
    expect(await read(await post(world, path, { happened: true }))).toMatchObject({
      ...{ status: 409, body: { state: "waiting" } },
    });
    expect((await post(world, path, { happened: true }, { "x-user": "mallory" })).status).toBe(404);
  });
});
