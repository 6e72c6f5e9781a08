import { BasePlugin, type Context, type LlmRequest, type LlmResponse } from "@google/adk";

/** One request to the model and its response, as the inspector shows them. */
export interface ModelExchange {
  /** When the model was asked. */
  at: number;
  /** When its response was complete. Missing while it responds, and if it failed. */
  endedAt?: number;
  model: string | undefined;
  system: string | undefined;
  tools: string[];
  /** The end of the conversation that was sent, and how many contents came before it. */
  contents: unknown[];
  earlier: number;
  response: unknown[];
}

/** Records what the model is asked by request and what it responds. Calls of a live model are not requests. */
export interface ModelRecord {
  /** For the option `plugins` of `createBridge`. */
  readonly plugin: BasePlugin;
  /** The last exchanges of a session, oldest first. */
  of(session: string): ModelExchange[];
}

export interface ModelRecordOptions {
  /** How many exchanges are kept, of all sessions together. */
  limit?: number;
  now?: () => number;
}

/** How much of a conversation is kept. Each request has all of it, so a long chat would fill the memory. */
const maxContents = 20;
const maxTextLength = 4000;

interface Recorded {
  session: string;
  invocation: string;
  exchange: ModelExchange;
}

/** Creates an empty record. `createInspectorRoutes` shows it. */
export function createModelRecord({ limit = 60, now = Date.now }: ModelRecordOptions = {}): ModelRecord {
  const exchanges: Recorded[] = [];
  return {
    plugin: new ModelRecordPlugin(exchanges, { limit, now }),
    of: (id) => exchanges.filter(({ session }) => session === id).map(({ exchange }) => exchange),
  };
}

/** A plugin sees the requests of every agent below the root, and those of agents that are run as tools. */
class ModelRecordPlugin extends BasePlugin {
  readonly #exchanges: Recorded[];
  readonly #options: Required<ModelRecordOptions>;

  constructor(exchanges: Recorded[], options: Required<ModelRecordOptions>) {
    super("model_record");
    this.#exchanges = exchanges;
    this.#options = options;
  }

  override async beforeModelCallback({
    callbackContext,
    llmRequest,
  }: {
    callbackContext: Context;
    llmRequest: LlmRequest;
  }): Promise<undefined> {
    const { sessionId: session, invocationId: invocation } = callbackContext;
    this.#exchanges.push({ session, invocation, exchange: open(llmRequest, this.#options.now()) });
    if (this.#exchanges.length > this.#options.limit) this.#exchanges.shift();
    return undefined;
  }

  override async afterModelCallback({
    callbackContext,
    llmResponse,
  }: {
    callbackContext: Context;
    llmResponse: LlmResponse;
  }): Promise<undefined> {
    const { sessionId, invocationId } = callbackContext;
    const last = this.#exchanges.findLast(
      ({ session, invocation }) => session === sessionId && invocation === invocationId,
    );
    if (last && llmResponse.partial !== true) close(last.exchange, llmResponse, this.#options.now());
    return undefined;
  }
}

function open({ model, contents, config, toolsDict }: LlmRequest, at: number): ModelExchange {
  const system = config?.systemInstruction;
  return {
    at,
    model,
    system: typeof system === "string" ? system.slice(0, maxTextLength) : undefined,
    tools: Object.keys(toolsDict),
    contents: contents.slice(-maxContents).map(copy),
    earlier: Math.max(0, contents.length - maxContents),
    response: [],
  };
}

function close(
  exchange: ModelExchange,
  { content, errorCode, errorMessage, usageMetadata }: LlmResponse,
  at: number,
): void {
  exchange.endedAt = at;
  if (exchange.response.length >= maxContents) return;
  exchange.response.push(
    copy({
      ...content,
      ...(errorCode !== undefined && { errorCode, errorMessage }),
      ...(usageMetadata && { usageMetadata }),
    }),
  );
}

/** A copy, because ADK changes its contents later. Long texts and the bytes of files are cut. */
function copy(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_, part: unknown) =>
      typeof part === "string" && part.length > maxTextLength
        ? `${part.slice(0, maxTextLength)}… (${part.length} characters)`
        : part,
    ) ?? "null",
  ) as unknown;
}
