import { createEvent, Gemini, LlmAgent, LogLevel, setLogLevel } from "@google/adk";
import type { Content, Part } from "@google/genai";
import { describe, expect, it } from "vitest";
import { newApproval } from "../../../test/fixtures/approvals.ts";
import { appStore } from "../../stores/app-store.ts";
import { memoryStore } from "../../stores/memory.ts";
import { GatePlugin } from "../adk/gate-plugin.ts";
import { unknownCalls } from "../adk/history.ts";
import { Runners } from "../adk/runners.ts";
import { StoreSessionService } from "../adk/session-service.ts";
import { ToolCalls } from "../adk/tool-calls.ts";
import { Toolsets } from "../adk/toolsets.ts";
import { Executor } from "../approval/executor.ts";
import { holdCalls } from "../approval/hold-calls.ts";
import { Policies } from "../approval/policies.ts";
import { ChatFiles } from "../files/index.ts";
import { TurnLog } from "../log/turn-log.ts";
import { silentLogger as logger } from "../support/index.ts";
import type { Turn } from "../turn-input.ts";
import { defaultBridgeLimits } from "../bridge-limits.ts";
import { ModelCalls } from "./model-calls.ts";
import { RequestSession } from "./request-session.ts";

setLogLevel(LogLevel.ERROR);

/** A chat with one step of calls, and a turn that continues it. */
async function open(...callIds: string[]) {
  const store = appStore(memoryStore(), "app");
  const requests: Content[][] = [];
  const agent = new LlmAgent({
    name: "agent",
    model: new Gemini({ model: "gemini-2.5-flash", apiKey: "unused" }),
    // In place of the model.
    beforeModelCallback: ({ request }) => {
      requests.push(structuredClone(request.contents));
      return { content: said("model", "Fine.") };
    },
  });
  const policies = new Policies({ inventory: new Toolsets({ agent, logger }), logger });
  const holder = holdCalls({ store, policies, logger, approvalTtlMs: 1000, startMs: 1000, maxPending: 9 });
  const gate = new GatePlugin({ holder, logger });
  const sessions = new StoreSessionService(store);
  const runners = new Runners({ agent, appName: "app", store, sessions, plugins: [gate] });
  const calls = new ToolCalls({ runners, gate, store, logger });
  const executor = new Executor({ store, calls, policies, leaseMs: 1000, logger });
  const chat = await store.openChat({ owner: "me", name: "chat", appName: "app" });
  const session = await sessions.load(chat);
  const parts = callIds.map((id): Part => ({ functionCall: { id, name: "pay", args: {} } }));
  await sessions.appendEvent({ session, event: createEvent({ author: "user", content: said("user", "Pay.") }) });
  await sessions.appendEvent({ session, event: createEvent({ author: "agent", content: { role: "model", parts } }) });

  const limits = { ...defaultBridgeLimits };
  const modelCalls = new ModelCalls({ ...limits, now: () => store.now() });
  const files = new ChatFiles({ store });
  const parties = { agent, store, files, sessions, runners, gate, executor, modelCalls, logger };
  const context = { ...parties, limits, maxLlmCalls: 5, graceMs: 0, leaseMs: 10_000, hasChat: () => true };
  const { signal } = new AbortController();
  const input = { kind: "settled", approvals: [], model: true } as const;
  const turn: Turn = { id: "turn", chat, reply: "msg_1", input, mode: "request", actor: "me", signal };
  const log = new TurnLog({
    ...{ store, logger, chat: chat.id, turn: "turn", reply: "msg_1", owesReply: false, message: undefined },
    ...{ modelName: "gemini-2.5-flash", maxEvents: 100, agentTools: new Set<string>() },
    isLeft: () => false,
    origin: { mode: "request", actor: "alice" },
  });
  /** Tells the model what is settled, and lets it speak. */
  async function resume() {
    const next = new RequestSession(chat, "request", context);
    const listener = { turn, log };
    const progress = await next.resume(listener);
    return progress === "ask" ? next.run(listener) : progress;
  }
  return { store, chat, requests, resume, load: () => sessions.load(chat) };
}

const said = (role: string, text: string) => ({ role, parts: [{ text }] });

describe("a session that is talked to by requests", () => {
  it("waits until every call of the step is settled, then tells all outcomes in one request", async () => {
    const { store, chat, requests, resume } = await open("c1", "c2");
    for (const id of ["c1", "c2"]) await store.createApproval(newApproval({ id, chat: chat.id, toolCallId: id }));
    await store.move("c2", { event: "deny", by: "me" });
    expect(await resume()).toBe("parked");
    expect(requests).toEqual([]);
    await store.move("c1", { event: "deny", by: "me" });
    expect(await resume()).toBe("done");
    expect(requests[0]?.at(-1)?.parts?.map(({ functionResponse }) => functionResponse?.id)).toEqual(["c1", "c2"]);
    const rows = await store.listApprovals({ chat: chat.id });
    expect(rows.map(({ told }) => told)).toEqual([true, true]);
  });

  it("tells the outcome of an agent's call later, when the agent was cancelled while the call ran", async () => {
    const { store, chat, requests, resume, load } = await open("c1");
    await store.openSession({ id: "inner", chat: chat.id, appName: "helper" });
    const agentRow = { external: true, innerSession: "inner", state: "approved", gated: false } as const;
    await store.createApproval(newApproval({ id: "outer", chat: chat.id, toolCallId: "c1", ...agentRow }));
    await store.createApproval(newApproval({ id: "i1", chat: chat.id, session: "inner", toolCallId: "i1" }));
    await store.move("i1", { event: "approve", by: "me" });
    const { approval } = await store.move("i1", { event: "claim", leaseOwner: "here", leaseMs: 1000 });
    await store.move("outer", { event: "cancel" });

    expect(await resume()).toBe("done");
    expect([...unknownCalls((await load()).events)]).toEqual(["i1"]);
    expect((await store.getApproval("i1"))?.told).toBe(false);

    await store.move("i1", { event: "succeed", outcome: { paid: 5 }, fence: approval?.fence });
    expect(await resume()).toBe("done");
    expect((await load()).events.at(-1)?.content?.parts?.[0]?.text).toContain('ended as succeeded: {"paid":5}');
    expect((await store.getApproval("i1"))?.told).toBe(true);
    expect(requests).toHaveLength(1);
  });

  it("has nothing to say when nothing is open", async () => {
    const { requests, resume } = await open();
    expect(await resume()).toBe("done");
    expect(requests).toEqual([]);
  });
});
