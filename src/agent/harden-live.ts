import { AsyncLocalStorage } from "node:async_hooks";
import {
  type BaseAgent,
  type BaseLlm,
  FunctionTool,
  Gemini,
  isBaseTool,
  isLlmAgent,
  isSequentialAgent,
  type LlmAgent,
} from "@google/adk";
import { BridgeError } from "../protocol/index.ts";
import { connectLive } from "./live-connection.ts";
import { announceConnection } from "./live-notices.ts";
import { taskCompleted } from "./missing-tool.ts";

/** A live run of ours, as far as its connections are concerned. */
export interface LiveRun {
  /** The model's name, where it is another than the agent's own. */
  readonly model?: string;
  readonly connectMs: number;
  /**
   * Nothing may connect for it any more. ADK goes on connecting when a run is over: where several agents take turns,
   * closing one of them only begins the next, in a `LoopAgent` for ever.
   */
  isOver: boolean;
}

/** The live run that the code under way belongs to; ADK does not say for whom it connects. */
const runs = new AsyncLocalStorage<LiveRun>();

/** Does some of the work of a run. */
export function inLiveRun<T>(run: LiveRun, work: () => T): T {
  return runs.run(run, work);
}

const hardened = new WeakSet<BaseLlm>();

/**
 * Gives every Gemini below `agent` the hardened live connection. ADK has no hook for it, so the method of each instance
 * is replaced; an agent that only names its model gets an instance first, because ADK would make a new one each time. Not
 * before it is needed: an instance wants a key. Other models keep their own connection, which says when it is there. What
 * others do with the same instance stays as it is.
 */
export function hardenLive(agent: BaseAgent): void {
  if (isLlmAgent(agent) && agent.model) {
    const llm = agent.canonicalModel;
    if (!hardened.has(llm)) {
      const connect = llm.connect.bind(llm);
      llm.connect = async (request) => {
        const run = runs.getStore();
        if (!run) return connect(request);
        if (run.isOver) throw new BridgeError("unavailable", "The conversation with the model is over.");
        if (!(llm instanceof Gemini)) return announceConnection(await connect(request));
        return connectLive(llm, request, { model: run.model ?? llm.model, connectMs: run.connectMs });
      };
      hardened.add(llm);
    }
    agent.model = llm;
  }
  if (isSequentialAgent(agent)) for (const child of agent.subAgents) if (isLlmAgent(child)) offerCompletion(child);
  for (const child of agent.subAgents) hardenLive(child);
}

/**
 * The tool by which an agent of a sequence says that its part is done. ADK adds it by itself, twice where two chats begin
 * at once, after which no model takes the agent any more; and it turns an instruction that is a function into its source.
 */
function offerCompletion(agent: LlmAgent): void {
  if (agent.tools.some((tool) => isBaseTool(tool) && tool.name === taskCompleted)) return;
  const execute = () => "Task completion signaled.";
  agent.tools.push(new FunctionTool({ name: taskCompleted, description: "Says that your part is done.", execute }));
  const { instruction } = agent;
  const ask = `\nWhen your part is done, call ${taskCompleted} and say nothing more: the next agent takes over.`;
  agent.instruction =
    typeof instruction === "function" ? async (context) => (await instruction(context)) + ask : instruction + ask;
}
