import { type BaseAgent, type BasePlugin, isAgentTool, type LlmAgent, Runner } from "@google/adk";
import type { Approval, Session, Store } from "../stores/index.ts";
import { agentOf } from "./agents.ts";
import { findTool, requireLlmAgent } from "./executor.ts";
import type { StoreSessionService } from "./session-service.ts";

/** Which agent a session belongs to, and the ADK runner that drives it with our gate in front. */
export class Runners {
  readonly #options: RunnersOptions;
  readonly #runners = new Map<BaseAgent, Runner>();

  constructor(options: RunnersOptions) {
    this.#options = options;
  }

  /** The agent that made a call, and the runner of its session. */
  async hostOf(approval: Approval): Promise<{ agent: LlmAgent; runner: Runner }> {
    const session = await this.#options.store.getSession(approval.session);
    if (!session) throw new Error(`Session ${approval.session} is gone.`);
    const runner = await this.runnerOf(session);
    const agent = requireLlmAgent((runner.agent as BaseAgent).findAgent(approval.agent), approval.agent);
    return { agent, runner };
  }

  /** The root agent's runner for a chat, the inner agent's for an agent run as a tool. */
  async runnerOf(session: Session): Promise<Runner> {
    const { store, agent: root } = this.#options;
    if (session.id === session.chat) return this.runnerFor(root);
    const outer = (await store.listApprovals({ chat: session.chat })).find((row) => row.innerSession === session.id);
    if (!outer) throw new Error(`The call that session ${session.id} works for is gone.`);
    const { agent } = await this.hostOf(outer);
    const tool = await findTool(agent, outer.toolName);
    if (!isAgentTool(tool)) throw new Error(`${outer.toolName} is not an agent any more.`);
    return this.runnerFor(agentOf(tool));
  }

  /** The runner that starts at this agent. */
  runnerFor(agent: BaseAgent): Runner {
    const known = this.#runners.get(agent);
    if (known) return known;
    const { agent: root, appName, sessions, plugins } = this.#options;
    const runner = new Runner({
      appName: agent === root ? appName : agent.name,
      agent,
      sessionService: sessions,
      plugins,
      resumabilityConfig: { isResumable: true },
    });
    this.#runners.set(agent, runner);
    return runner;
  }
}

export interface RunnersOptions {
  agent: BaseAgent;
  appName: string;
  store: Store;
  sessions: StoreSessionService;
  plugins: BasePlugin[];
}
