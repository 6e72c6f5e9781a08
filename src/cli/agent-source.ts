import { dirname } from "node:path";
import type { BaseAgent, BasePlugin } from "@google/adk";
import type { AgentOutline } from "../agent/index.ts";
import { findOtherModel, outlineAgent } from "../agent/index.ts";
import type { Authenticate } from "../server/index.ts";
import { findAgent } from "./find-agent.ts";
import { loadErrorSentence } from "./load-error.ts";
import type { ProjectModules } from "./project-modules.ts";

/** An agent that was loaded from its file. */
export interface LoadedAgent {
  agent: BaseAgent;
  outline: AgentOutline;
  plugins: BasePlugin[];
  /** The export `authenticate` of the file, if it has one. */
  authenticate: Authenticate | undefined;
}

export interface AgentSourceOptions {
  file: string;
  /** The file as the person wrote it, for sentences. */
  shown: string;
  modules: ProjectModules;
  isScripted: boolean;
}

/** Loads the agent of a file, anew with each call. Rejects with one sentence that says what is wrong. */
export async function loadAgent({ file, shown, modules, isScripted }: AgentSourceOptions): Promise<LoadedAgent> {
  const exports = await modules.load(file).catch((error: unknown) => {
    throw new Error(loadErrorSentence(error, dirname(file)), { cause: error });
  });
  const { agent, plugins } = await findAgent(exports, shown);
  const { authenticate } = exports;
  if (authenticate !== undefined && typeof authenticate !== "function")
    throw new Error(`The export authenticate of ${shown} must be a function that returns the owner of a request.`);
  const loaded = agent as BaseAgent;
  const other = isScripted && "subAgents" in loaded ? findOtherModel(loaded) : undefined;
  if (other && other.model === undefined)
    throw new Error(`The agent ${other.agent} in ${shown} has no model. Give it one, such as "gemini-2.5-flash".`);
  // A model of a class of its own needs no key of Google.
  if (other && !other.isOwn)
    throw new Error(
      `There is no key for the model ${other.model} of the agent ${other.agent}, and it cannot be scripted. Set GOOGLE_API_KEY, or the variables of Vertex AI.`,
    );
  return {
    agent: loaded,
    outline: "subAgents" in loaded ? outlineAgent(loaded) : { name: "", model: undefined, tools: [], agents: [] },
    plugins: plugins as BasePlugin[],
    authenticate: authenticate as Authenticate | undefined,
  };
}
