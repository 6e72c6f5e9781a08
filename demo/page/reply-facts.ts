/** What the server reports about a reply: the model that made it, and how many tokens it took. */
export interface ReplyFacts {
  model: string | undefined;
  inputTokens: number;
  outputTokens: number;
}

/** Reads a reply's metadata. Undefined if there is nothing to show, as in a reply that has not ended. */
export function readReplyFacts(metadata: unknown): ReplyFacts | undefined {
  const { modelVersion, usage } = Object(metadata ?? {}) as { modelVersion?: unknown; usage?: unknown };
  const { inputTokens, outputTokens } = Object(usage ?? {}) as { inputTokens?: unknown; outputTokens?: unknown };
  const facts = {
    model: typeof modelVersion === "string" && modelVersion !== "" ? modelVersion : undefined,
    inputTokens: toCount(inputTokens),
    outputTokens: toCount(outputTokens),
  };
  return facts.model === undefined && facts.inputTokens + facts.outputTokens === 0 ? undefined : facts;
}

const toCount = (value: unknown): number =>
  typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0;
