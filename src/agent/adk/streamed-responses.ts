import { type BaseAgent, type BaseLlm, Gemini, isLlmAgent, type LlmAgent } from "@google/adk";
import { ApiError } from "@google/genai";
import { keepRequestTexts, type RequestMaker } from "./request-texts.ts";

/**
 * K34. The genai client reads a streamed response of Gemini event by event. For each it makes a `Response` with a copy of
 * all headers, and parses the text three times. For words as short as a model streams them, that takes more time than all
 * that follows. This does the same and parses each event once.
 */

/** One event, as the genai client hands it on. */
interface StreamedResponse {
  headers: Record<string, string>;
  json(): Promise<unknown>;
}

/** The part of the genai client that we replace. It is private there. */
interface StreamReader {
  processStreamResponse?: (response: Response) => AsyncGenerator<StreamedResponse>;
}

const prepared = new WeakSet<BaseLlm>();

/**
 * Makes the model of an agent read its streams with {@link streamedResponses}. Models other than Gemini are left alone, and
 * so is a client that reads in another way. An agent that only names its model gets an instance, since ADK would make a
 * new one for each request, also for each of the agents below that have no model of their own.
 */
export function prepareStreams(agent: BaseAgent): void {
  if (!isLlmAgent(agent)) return;
  try {
    const llm = agent.canonicalModel;
    const owner = modelOwner(agent);
    if (owner && typeof owner.model === "string") owner.model = llm;
    if (prepared.has(llm) || !(llm instanceof Gemini)) return;
    prepared.add(llm);
    const reader = llm.apiClient.models["apiClient"] as StreamReader | undefined;
    if (typeof reader?.processStreamResponse === "function") reader.processStreamResponse = streamedResponses;
    keepRequestTexts(llm.apiClient.models as unknown as RequestMaker);
  } catch {
    // A model without a key. ADK says so when it makes the request.
  }
}

/** The agent whose model another one uses: itself, or the nearest above that has one. */
function modelOwner(agent: BaseAgent): LlmAgent | undefined {
  for (let each: BaseAgent | undefined = agent; each; each = each.parentAgent)
    if (isLlmAgent(each) && each.model) return each;
  return undefined;
}

/** What ends an event. Spelled as the genai client has it. */
const endOfEvent = /\n\n|\r\r|\r\n\r\n/;

/** The events of a streamed response. Throws what the genai client throws. */
export async function* streamedResponses(response: Response): AsyncGenerator<StreamedResponse> {
  const reader = response.body?.getReader();
  if (!reader) throw new Error("Response body is empty");
  const headers = Object.fromEntries(response.headers.entries());
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      const text = decoder.decode(read.value, { stream: true });
      // An error may come as a body of its own in the middle of the stream. Most pieces begin with "data:".
      if (/^\s*\{/.test(text)) throwIfError(parse(text).value);
      const events = (rest + text).split(endOfEvent);
      rest = events.pop() ?? "";
      for (const event of events) {
        const line = event.trim();
        if (!line.startsWith("data:")) continue;
        const parsed = parse(line.slice("data:".length).trim());
        throwIfError(parsed.value);
        yield {
          headers,
          async json() {
            if (parsed.error) throw parsed.error;
            return parsed.value;
          },
        };
      }
    }
    if (rest.trim().length > 0) throw new Error("Incomplete JSON segment at the end");
  } finally {
    reader.releaseLock();
  }
}

function parse(text: string): { value?: unknown; error?: Error } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { error: error as Error };
  }
}

function throwIfError(value: unknown): void {
  if (typeof value !== "object" || value === null || !("error" in value)) return;
  const { error } = value;
  if (typeof error !== "object" || error === null) return;
  const { status, code } = error as { status?: unknown; code?: unknown };
  if (typeof code !== "number" || code < 400 || code >= 600) return;
  throw new ApiError({ message: `got status: ${String(status)}. ${JSON.stringify(value)}`, status: code });
}
