import {
  agentTools,
  deleteArtifacts,
  EventCache,
  GatePlugin,
  guardCompaction,
  refuseAgents,
  refuseToolsets,
  rememberContents,
  requireAgent,
  Runners,
  StoreSessionService,
  ToolCalls,
  Toolsets,
} from "./adk/index.ts";
import { Quota } from "../protocol/quota.ts";
import { appStore } from "../stores/app-store.ts";
import { Authorizer, Executor, holdCalls, notedStore, Policies, UnseenQuestions } from "./approval/index.ts";
import { readBridgeLimits } from "./bridge-limits.ts";
import { Readiness } from "./readiness.ts";
import type { BridgeOptions } from "./bridge-options.ts";
import {
  Admission,
  Chats,
  ChatTurns,
  DueWork,
  Recovery,
  Relay,
  type Unshown,
  Requests,
  Retention,
  sayAgain,
  Settlement,
  Submissions,
  Titles,
} from "./chat/index.ts";
import { Conversations, ModelCalls } from "./conversation/index.ts";
import { ChatFiles } from "./files/index.ts";
import { lastMessageAt } from "./log/index.ts";
import { consoleLogger, DecisionsFirst, metrics } from "./support/index.ts";

export type BridgeParts = ReturnType<typeof buildParts>;

/** Builds what a bridge consists of. Throws for an agent that cannot be gated. */
export function buildParts(options: BridgeOptions) {
  const { agent, logger = consoleLogger, maxLlmCalls = 50, graceMs = 1000 } = options;
  const { approvalTtlMs = 15 * 60_000, startMs = 5 * 60_000, maxPending = 32, leaseMs = 10_000 } = options;
  const limits = readBridgeLimits(options.limits);
  requireAgent(agent);
  const appName = options.appName ?? agent.name;
  const confirmed = Object.entries(options.tools ?? {}).flatMap(([name, { confirm }]) => (confirm ? [name] : []));
  refuseAgents(agent, confirmed);
  const toolsets = new Toolsets({ agent, logger });
  const policies = new Policies({ ...options, inventory: toolsets, logger });

  guardCompaction(agent);
  const files = new ChatFiles({ ...options, store: appStore(notedStore(options.store, logger), appName) });
  const { store } = files;
  const cache = new EventCache(store);
  rememberContents(agent, cache);
  const sessions = new StoreSessionService(store, cache);
  const unseen = new UnseenQuestions({ store, lastMessageAt: (chat) => lastMessageAt(store, chat) });
  const holder = holdCalls({ store, policies, logger, approvalTtlMs, startMs, maxPending, limits, unseen });
  const gate = new GatePlugin({ holder, logger });
  // The gate comes first: a value that another plugin's callback returns would keep it from being asked.
  const plugins = [gate, ...(options.plugins ?? [])];
  const { artifactService, memoryService, credentialService } = options;
  const services = { artifactService, memoryService, credentialService };
  const runners = new Runners({ agent, appName, store, sessions, plugins, services });
  const calls = new ToolCalls({ runners, gate, store, logger });
  const executor = new Executor({ store, calls, policies, leaseMs, logger });
  const authorizer = new Authorizer({ authorize: options.authorize, logger });
  const modelCalls = new ModelCalls({ ...limits, now: () => store.now() });
  const shared = { store, executor, authorizer, logger, maxLlmCalls, graceMs, leaseMs };
  const conversations = new Conversations(
    { ...shared, agent, files, sessions, runners, gate, modelCalls, limits, hasChat: (chat) => turns.has(chat) },
    options.live ?? {},
  );
  const agentNames = new Set(agentTools(agent).map(({ name }) => name));
  const quota = new Quota({ what: "turns at once", perOwner: limits.turnsPerOwner, total: limits.turns });
  const decisionsFirst = new DecisionsFirst(limits.decisionsFirstMs);
  const context = { ...shared, conversations, unseen, agentTools: agentNames, quota, decisionsFirst };

  const turns = new ChatTurns(context);
  const relay = new Relay({ store, logger, leaseMs });
  const settlement = new Settlement({ ...context, relay }, turns);
  const dueWork = new DueWork({
    ...context,
    show: (chat, rows, how) => settlement.show(chat, rows, how),
    sayAgain: (chat, unanswered) => sayAgain(unanswered, chat, { store, turns }),
    isCovered: (row) => turns.covers(row),
    isClosed: () => turns.isClosed,
    atChat: (work, unshown) =>
      relay.run(work, { relayed: async () => ({ name: "show", body: { ...unshown } }), receive: () => undefined }),
  });
  relay.handle("show", (unshown) => dueWork.showHere(unshown as unknown as Unshown));
  const effectOf = (toolName: string) => policies.get(toolName)?.effect ?? "opaque";
  const titles = new Titles({ store, logger, title: options.title });
  const submissions = new Submissions({
    ...context,
    ...{ appName, agentName: agent.name, limits, calls, files, turns, settlement, titles, effectOf },
  });
  const isRunning = (chatId: string) => turns.running(chatId) !== undefined;
  const admission = new Admission({ ...context, modelCalls, isRunning });
  const requests = new Requests({ store, relay, turns, admission, submissions, settlement });
  const recovery = new Recovery(
    { store, logger, keepMessage: (message, chat) => conversations.keepMessage(message, chat) },
    ...([turns, dueWork] as const),
  );
  const chats = new Chats({
    ...{ store, logger, executor, turns, relay, appName, agentName: agent.name, effectOf, limits, files },
    deleteArtifacts: ({ id, owner }) => deleteArtifacts(artifactService, { appName, userId: owner, sessionId: id }),
  });
  const retention = new Retention({
    ...{ store, logger, retention: options.retention },
    deleteUnchanged: (chat, before) => chats.deleteUnchanged(chat, before),
  });
  const readiness = new Readiness({ store, logger });
  const endReading = metrics.approvals.open.observe(options.store, () => options.store.countOpenCalls());
  readiness.stopping.addEventListener("abort", endReading);
  return {
    ...{ store, files, logger, toolsets, policies, executor, authorizer, conversations, unseen },
    ...{ turns, dueWork, relay, requests, recovery, chats, retention, readiness, cache },
    /** Throws for what toolsets bring and cannot be gated, and for policies that match no tool. */
    async checkTools(): Promise<void> {
      await refuseToolsets(agent, confirmed);
      await policies.start();
      toolsets.use();
    },
  };
}
