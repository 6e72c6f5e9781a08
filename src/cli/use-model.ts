/** The variables that ADK reads a key from, in its order. */
const keys = ["GOOGLE_GENAI_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY"];
const vertex = ["GOOGLE_GENAI_USE_ENTERPRISE", "GOOGLE_GENAI_USE_VERTEXAI"];

type Env = Record<string, string | undefined>;

/** Where the agent's Gemini models are reached. */
export type ModelSource = "google" | "vertex" | "address" | "script";

/** Finds out from the environment whether there is a model. Without a key and without an address the script stands in. */
export function modelSource(env: Env): ModelSource {
  if (vertex.some((name) => /^(?:1|true)$/i.test(env[name] ?? ""))) return "vertex";
  if (env["GOOGLE_GEMINI_BASE_URL"]) return "address";
  return keys.some((name) => env[name]) ? "google" : "script";
}

/**
 * Sends every Gemini of this process to a scripted one, also those that the agent file makes itself. ADK insists on a key
 * and a client that finds none refuses to start, so there is one that no server knows.
 */
export function useScript(env: Env, url: string): void {
  env["GOOGLE_GEMINI_BASE_URL"] = url;
  env["GOOGLE_API_KEY"] = "none";
}
