import {
  type AgentTool,
  type BaseAgent,
  type BaseArtifactService,
  type BaseCredentialService,
  type BaseMemoryService,
  type BasePlugin,
  type LlmAgent,
  Runner,
} from "@google/adk";
import type { Approval, Session, Store } from "../../stores/index.ts";
import { agentOf } from "./agent-tool.ts";
import { chatArtifacts } from "./chat-artifacts.ts";
import { findAgentTool, findCaller } from "./agents.ts";
import { fromStore } from "./find-tool.ts";
import { refuseChanged } from "./refuse-changed.ts";
import type { StoreSessionService } from "./session-service.ts";

export interface RunnersOptions {
  agent: BaseAgent;
  appName: string;
  store: Store;
  sessions: StoreSessionService;
  plugins: BasePlugin[];
  services?: AdkServices;
}

/** ADK's services, for calls in its loop and for calls that waited. */
export interface AdkServices {
  /** Where tools keep files (`saveArtifact`, `loadArtifact`). Artifacts belong to the chat. Default: none. */
  artifactService?: BaseArtifactService;
  /** Where tools look for earlier conversations (`searchMemory`). The bridge adds nothing to it. Default: none. */
  memoryService?: BaseMemoryService;
  /** Passed to ADK, which does not use it itself. Default: none. */
  credentialService?: BaseCredentialService;
}

/** Which agent a session belongs to, and the ADK runner for it. Every runner has the gate as its first plugin. */
export class Runners {
  readonly #options: RunnersOptions;
  readonly #runners = new Map<BaseAgent, Runner>();

  constructor(options: RunnersOptions) {
    this.#options = options;
  }

  /** The agent that made a call, and the runner of its session. */
  async hostOf(approval: Approval): Promise<{ agent: LlmAgent; runner: Runner }> {
    const session = await fromStore(this.#options.store.getSession(approval.session));
    if (!session) throw new Error(`Session ${approval.session} is gone.`);
    const runner = await this.runnerOf(session);
    return { agent: findCaller(rootOf(runner), approval.agent), runner };
  }

  /**
   * The agent that a call runs as a tool. Throws when there is none any more, or when the call has not begun and the agent
   * has changed since it was shown.
   */
  async agentToolOf(approval: Approval, { hasBegun }: { hasBegun: boolean }): Promise<AgentTool> {
    const { agent } = await this.hostOf(approval);
    const tool = await findAgentTool(agent, approval.toolName);
    if (!hasBegun) refuseChanged(approval, tool, agent.name);
    return tool;
  }

  /** The root agent's runner for a chat; the inner agent's for an agent that is run as a tool. */
  async runnerOf(session: Session): Promise<Runner> {
    const { store, agent: root } = this.#options;
    if (session.id === session.chat) return this.runnerFor(root);
    const [outer] = await fromStore(store.listApprovals({ chat: session.chat, innerSession: session.id }));
    if (!outer) throw new Error(`The call that session ${session.id} belongs to is gone.`);
    const { agent } = await this.hostOf(outer);
    return this.runnerFor(agentOf(await findAgentTool(agent, outer.toolName)));
  }

  /** The runner that starts at this agent. */
  runnerFor(agent: BaseAgent): Runner {
    const known = this.#runners.get(agent);
    if (known) return known;
    const { agent: root, appName, sessions, plugins, services: { artifactService, ...services } = {} } = this.#options;
    const runner = new Runner({
      // An agent that is run as a tool is an app of its own. The others are parts of the root's.
      appName: agent.rootAgent === root.rootAgent ? appName : agent.name,
      agent,
      ...services,
      ...(artifactService && { artifactService: chatArtifacts(artifactService, appName) }),
      sessionService: sessions,
      plugins,
      // K6: after a response ADK resumes the agent that made the call.
      resumabilityConfig: { isResumable: true },
    });
    this.#runners.set(agent, runner);
    return runner;
  }
}

/** The agent a runner starts at. Ours always start at agents; ADK's type allows workflows too. */
export function rootOf(runner: Runner): BaseAgent {
  return runner.agent as BaseAgent;
}
