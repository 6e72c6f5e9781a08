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
import type { Content } from "@google/genai";
import { BridgeError } from "../../../protocol/index.ts";
import { taskCompleted } from "../missing-tool.ts";
import { connectLive } from "./connect-live.ts";
import { announceConnection } from "./notices.ts";
import { withFiles } from "./with-files.ts";

/** What a connection needs to know of the live run it belongs to. */
export interface LiveRunScope {
  /** The model's name, if it differs from the agent's own. */
  readonly model?: string | undefined;
  readonly connectMs: number;
  /** Puts the content of files and large outputs back into what the model gets. Changes the array only. */
  fillIn(contents: Content[]): Promise<void>;
  /**
   * True when the run must not connect any more. With several agents ADK starts the next one whenever a connection ends,
   * also when the run was closed; a `LoopAgent` would reconnect for ever.
   */
  isOver(): boolean;
}

/** The live run that the current code belongs to; ADK does not say for which run it connects. */
const runs = new AsyncLocalStorage<LiveRunScope>();

/** Does some of the work of a run. */
export function inLiveRun<T>(run: LiveRunScope, work: () => T): T {
  return runs.run(run, work);
}

const hardened = new WeakSet<BaseLlm>();

/**
 * Replaces the `connect` method of every model below `agent`, because ADK has no hook for it: Gemini models get the
 * connection of `connect-live.ts`, other models keep theirs and report that they are connected. An agent that only names
 * its model gets an instance first, since ADK would make a new one each time; that needs an API key, so it happens when the
 * first live conversation starts. Uses of the same model outside our runs are not affected.
 */
export function hardenLive(agent: BaseAgent): void {
  if (isLlmAgent(agent) && agent.model) {
    const llm = agent.canonicalModel;
    if (!hardened.has(llm)) {
      const connect = llm.connect.bind(llm);
      llm.connect = async (request) => {
        const run = runs.getStore();
        if (!run) return connect(request);
        if (run.isOver()) throw new BridgeError("unavailable", "The conversation with the model is over.");
        if (!(llm instanceof Gemini)) return withFiles(announceConnection(await connect(request)), run);
        const options = { model: run.model ?? llm.model, connectMs: run.connectMs };
        return withFiles(await connectLive(llm, request, options), run);
      };
      hardened.add(llm);
    }
    agent.model = llm;
  }
  if (isSequentialAgent(agent)) for (const child of agent.subAgents) if (isLlmAgent(child)) addCompletionTool(child);
  for (const child of agent.subAgents) hardenLive(child);
}

/**
 * Adds the tool by which an agent of a sequence says that its part is done. ADK adds it at every run, with an `await`
 * between the check and the change: two chats that begin at once get it twice, which models refuse. ADK also replaces an
 * instruction that is a function by its source text.
 */
function addCompletionTool(agent: LlmAgent): void {
  if (agent.tools.some((tool) => isBaseTool(tool) && tool.name === taskCompleted)) return;
  const execute = () => "Task completion signaled.";
  agent.tools.push(new FunctionTool({ name: taskCompleted, description: "Says that your part is done.", execute }));
  const { instruction } = agent;
  const ask = `\nWhen your part is done, call ${taskCompleted} and say nothing more: the next agent takes over.`;
  agent.instruction =
    typeof instruction === "function" ? async (context) => (await instruction(context)) + ask : instruction + ask;
}
