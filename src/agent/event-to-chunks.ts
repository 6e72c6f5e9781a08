import { getFunctionResponses, type Event } from "@google/adk";
import type {
  CitationMetadata,
  FunctionResponse,
  GenerateContentResponseUsageMetadata,
  GroundingMetadata,
  Part,
} from "@google/genai";
import type { FinishReason, UIMessageChunk } from "ai";
import { type Call, callsOf, isReserved, keptOf } from "./history.ts";

/**
 * ADK events in, AI SDK chunks out: one event and what is open so far give the next chunks and the next state. Nothing
 * else decides the shape of a reply.
 *
 *   start-step · reasoning · text · tool-input-start/-available per call · [approval requests] · outputs · finish-step
 *
 * A step is one model call with its tools: it ends with the tools' answers, or with the model's own finish reason. ADK
 * streams text as partial events and then repeats it whole in one event that is not partial; the repetition closes the
 * text and is not shown again. What is open is closed before a step ends: `ai@6` rejects a delta for a part that was open
 * across one.
 */
export interface ChunkState {
  inStep: boolean;
  /** The open text or reasoning part. */
  open?: { kind: "text" | "reasoning"; id: string };
  /** Parts started so far; numbers their ids. */
  parts: number;
  /** Text and reasoning streamed and not yet repeated. */
  streamed: { text: string; reasoning: string };
  /** Calls kept back until they have an outcome, see `defer`. */
  deferred: ReadonlyMap<string, Call>;
  sources: ReadonlySet<string>;
  /** True once anything was shown. */
  shown: boolean;
  /** True until the model call under way has said something: one that ends like this has refused. */
  silent: boolean;
  finishReason: FinishReason;
  error?: string;
  /** By agent and run: a parent's last count comes after its children's, and an agent run as a tool counts beside its caller. */
  usage: ReadonlyMap<string, AgentUsage>;
}

/** Each event repeats its model call's usage so far, so a call counts when the next one begins. */
interface AgentUsage {
  before: Usage;
  call: Usage;
  ended: boolean;
}

export interface Usage {
  inputTokens: number;
  outputTokens: number;
  totalTokens: number;
  reasoningTokens: number;
  cachedInputTokens: number;
}

export interface ChunkOptions {
  /**
   * Calls to announce only with their outcome. An agent run as a tool waits for the approvals of its own calls; a part
   * that is neither answered nor settled would keep stock chats from ever sending those answers.
   */
  defer?: (toolName: string) => boolean;
  /**
   * An agent run as a tool: its calls are shown, what it says is its caller's to use. They are part of its caller's step,
   * because stock chats send the answers to all questions of the last step together.
   */
  inner?: boolean;
}

const noUsage: Usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0, reasoningTokens: 0, cachedInputTokens: 0 };

export const initialChunkState: ChunkState = {
  inStep: false,
  parts: 0,
  streamed: { text: "", reasoning: "" },
  deferred: new Map(),
  sources: new Set(),
  shown: false,
  silent: true,
  finishReason: "stop",
  usage: new Map(),
};

type Step = [ChunkState, UIMessageChunk[]];

export function eventToChunks(before: ChunkState, event: Event, options: ChunkOptions = {}): Step {
  let state = countUsage(before, event);
  const chunks: UIMessageChunk[] = [];
  const emit = ([next, more]: Step) => {
    state = next;
    chunks.push(...more);
  };

  if (!options.inner) state = readEnding(state, event);
  const parts = event.content?.parts ?? [];
  const calls = event.partial ? [] : callsOf(event);
  for (const part of parts) {
    if (part.functionCall) {
      const call = calls.find(({ id }) => id === part.functionCall?.id);
      if (call) emit(callToChunks(state, call, options));
    } else if (!part.functionResponse && !options.inner) emit(partToChunks(state, part, event.partial ?? false));
  }
  if (!event.partial && parts.some((part) => part.text)) state = { ...state, streamed: { text: "", reasoning: "" } };
  if (!options.inner) emit(sourcesToChunks(state, event));

  const responses = [...getFunctionResponses(event), ...keptOf(event).map((part) => part.functionResponse)];
  for (const response of responses) emit(responseToChunks(state, response));
  // ADK answers all calls of a step in one event; held ones are stripped from it, and the step ends here all the same.
  const answered = responses.length > 0 || event.customMetadata?.["kept"] !== undefined;
  const ended = !event.partial && event.finishReason !== undefined && parts.length > 0 && calls.length === 0;
  if (options.inner || !(answered || ended)) return [state, chunks];
  emit(closeStep(state));
  return [answered ? { ...state, silent: true } : state, chunks];
}

/** Announces a call that was kept back, if it was. */
export function announceCall(state: ChunkState, toolCallId: string): Step {
  const call = state.deferred.get(toolCallId);
  if (!call) return [state, []];
  const deferred = new Map(state.deferred);
  deferred.delete(toolCallId);
  return callToChunks({ ...state, deferred }, call, {});
}

/** Opens a step unless one is open. */
export function openStep(state: ChunkState): Step {
  return state.inStep
    ? [state, []]
    : [{ ...state, inStep: true, shown: true, silent: false }, [{ type: "start-step" }]];
}

/** Ends the open step, and first whatever is open inside it. */
export function closeStep(before: ChunkState): Step {
  const [state, chunks] = closePart(before);
  if (!state.inStep) return [state, chunks];
  return [{ ...state, inStep: false, streamed: { text: "", reasoning: "" } }, [...chunks, { type: "finish-step" }]];
}

/** The sum over all model calls of the turn, those of agents run as tools among them. */
export function totalUsage({ usage }: ChunkState): Usage {
  return [...usage.values()].reduce((sum, { before, call }) => addUsage(addUsage(sum, before), call), noUsage);
}

function closePart(state: ChunkState): Step {
  const { open, ...rest } = state;
  if (!open) return [state, []];
  return [rest, [{ type: `${open.kind}-end`, id: open.id }]];
}

function openPart(before: ChunkState, kind: "text" | "reasoning"): Step {
  if (before.open?.kind === kind) return [before, []];
  const [stepped, chunks] = openStep(before);
  const [state, more] = closePart(stepped);
  const parts = state.parts + 1;
  const open = { kind, id: `${kind}-${parts}` };
  return [{ ...state, parts, open }, [...chunks, ...more, { type: `${kind}-start`, id: open.id }]];
}

function partToChunks(state: ChunkState, part: Part, partial: boolean): Step {
  if (part.text) return textToChunks(state, part.text, part.thought ? "reasoning" : "text", partial);
  const chunk = mediaToChunk(part);
  // A picture that is only thought of has no place on `ai@6`.
  if (!chunk || part.thought) return [state, []];
  const [stepped, chunks] = openStep(state);
  const [closed, more] = closePart(stepped);
  return [closed, [...chunks, ...more, chunk]];
}

function textToChunks(before: ChunkState, text: string, kind: "text" | "reasoning", partial: boolean): Step {
  const [streamed, delta] = partial
    ? [before.streamed[kind] + text, text]
    : withoutRepetition(before.streamed[kind], text);
  let state: ChunkState = { ...before, streamed: { ...before.streamed, [kind]: streamed } };
  const chunks: UIMessageChunk[] = [];
  if (delta) {
    const [opened, start] = openPart(state, kind);
    chunks.push(...start, { type: `${kind}-delta`, id: opened.open!.id, delta });
    state = opened;
  }
  if (partial) return [state, chunks];
  const [closed, end] = closePart(state);
  return [closed, [...chunks, ...end]];
}

/** What is left of the streamed text, and what a whole text adds to it. */
function withoutRepetition(streamed: string, text: string): [streamed: string, delta: string] {
  if (streamed.startsWith(text)) return [streamed.slice(text.length), ""];
  return ["", text.startsWith(streamed) ? text.slice(streamed.length) : text];
}

function mediaToChunk(part: Part): UIMessageChunk | undefined {
  const { inlineData, fileData, executableCode, codeExecutionResult } = part;
  if (inlineData?.data) {
    const mediaType = inlineData.mimeType ?? "application/octet-stream";
    return { type: "file", mediaType, url: `data:${mediaType};base64,${inlineData.data}` };
  }
  if (fileData?.fileUri)
    return { type: "file", mediaType: fileData.mimeType ?? "application/octet-stream", url: fileData.fileUri };
  if (executableCode)
    return { type: "data-executable-code", data: { language: executableCode.language, code: executableCode.code } };
  if (codeExecutionResult)
    return {
      type: "data-code-execution-result",
      data: { outcome: codeExecutionResult.outcome, output: codeExecutionResult.output },
    };
  return undefined;
}

function callToChunks(before: ChunkState, call: Call, { defer }: ChunkOptions): Step {
  if (defer?.(call.name)) return [{ ...before, deferred: new Map(before.deferred).set(call.id, call) }, []];
  const [stepped, chunks] = openStep(before);
  const [state, more] = closePart(stepped);
  const named = { toolCallId: call.id, toolName: call.name };
  return [
    state,
    [
      ...chunks,
      ...more,
      { type: "tool-input-start", ...named },
      { type: "tool-input-available", ...named, input: call.args ?? {} },
    ],
  ];
}

function responseToChunks(before: ChunkState, { id: toolCallId, name, response }: FunctionResponse): Step {
  if (!toolCallId || isReserved(name)) return [before, []];
  const [state, chunks] = announceCall(before, toolCallId);
  // ADK's shape of a throw, and the ledger's of a failed call; a result that has an error among other things is a result.
  const isFailure = response && (Object.keys(response).length === 1 || response["status"] === "failed");
  const error = isFailure ? response["error"] : undefined;
  return [
    state,
    [
      ...chunks,
      typeof error === "string"
        ? { type: "tool-output-error", toolCallId, errorText: error }
        : { type: "tool-output-available", toolCallId, output: response ?? {} },
    ],
  ];
}

function sourcesToChunks(before: ChunkState, event: Event): Step {
  const found = [...groundingSources(event.groundingMetadata), ...citationSources(event.citationMetadata)];
  const fresh = found.filter(({ key }) => !before.sources.has(key));
  if (fresh.length === 0) return [before, []];
  const [stepped, chunks] = openStep(before);
  const sources = new Set(stepped.sources);
  for (const { key, chunk } of fresh)
    if (!sources.has(key)) {
      sources.add(key);
      chunks.push(chunk);
    }
  return [{ ...stepped, sources }, chunks];
}

/** The id is the source's own address: a message that is continued does not start to count again. */
type Source = { key: string; chunk: UIMessageChunk };

function groundingSources(metadata: GroundingMetadata | undefined): Source[] {
  return (metadata?.groundingChunks ?? []).flatMap(({ web, maps, image, retrievedContext }): Source[] => {
    const page = web ?? maps ?? (image && { uri: image.sourceUri, title: image.title });
    if (page?.uri) return [urlSource(page.uri, page.title)];
    const title = retrievedContext?.title ?? retrievedContext?.uri;
    if (!title) return [];
    const key = retrievedContext?.uri ?? title;
    return [{ key, chunk: { type: "source-document", sourceId: key, mediaType: "text/plain", title } }];
  });
}

function citationSources(metadata: CitationMetadata | undefined): Source[] {
  return (metadata?.citations ?? []).flatMap(({ uri, title }) => (uri ? [urlSource(uri, title)] : []));
}

function urlSource(url: string, title: string | undefined): Source {
  return { key: url, chunk: { type: "source-url", sourceId: url, url, ...(title && { title }) } };
}

/** How the model call ended, as far as this event tells. */
function readEnding(
  state: ChunkState,
  { finishReason, errorCode, errorMessage, content, usageMetadata, partial, turnComplete }: Event,
): ChunkState {
  // A reply cut short by a filter carries its finish reason as an error code too: that is an ending, not a failure.
  const isEnding = errorCode !== undefined && Object.hasOwn(finishReasons, errorCode);
  if (errorCode && !isEnding)
    return { ...state, error: state.error ?? modelErrorText(errorCode, errorMessage), shown: true };
  const reason = finishReason ?? errorCode;
  const next = reason === undefined ? state : { ...state, finishReason: toFinishReason(reason) };
  // A refused prompt comes as a count of its tokens and nothing else, streamed; otherwise as a reason without content. A
  // live model counts at the end of each of its turns, also of one in which it had nothing to add.
  const isCount = usageMetadata !== undefined && !turnComplete;
  if (partial || content?.parts?.length || !state.silent || (reason === undefined && !isCount)) return next;
  const refused = reason === undefined || (next.finishReason !== "stop" && next.finishReason !== "length");
  return refused ? { ...next, error: refusalText(reason, errorMessage), shown: true } : next;
}

/** What a person reads where the model said nothing at all. */
export function refusalText(reason?: string, message?: string): string {
  if (reason === undefined)
    return "The model returned nothing. The prompt may have been blocked by its safety filters.";
  return `The model returned nothing (${reason})${message ? `: ${message}` : "."}`;
}

function modelErrorText(code: string | undefined, message: string | undefined): string {
  const said = message ? `: ${message}` : ".";
  if (code === "429") return `The model is over its quota or rate limit (429)${said}`;
  return `The model returned an error (${code ?? "unknown"})${said}`;
}

/** Every finish reason Gemini has, and every reason to block a prompt, in AI SDK's words. */
const finishReasons: Readonly<Record<string, FinishReason>> = {
  FINISH_REASON_UNSPECIFIED: "stop",
  STOP: "stop",
  MAX_TOKENS: "length",
  CONTINUATION: "length",
  SAFETY: "content-filter",
  RECITATION: "content-filter",
  LANGUAGE: "content-filter",
  BLOCKLIST: "content-filter",
  PROHIBITED_CONTENT: "content-filter",
  SPII: "content-filter",
  IMAGE_SAFETY: "content-filter",
  IMAGE_RECITATION: "content-filter",
  IMAGE_PROHIBITED_CONTENT: "content-filter",
  MODEL_ARMOR: "content-filter",
  JAILBREAK: "content-filter",
  BLOCKED_REASON_UNSPECIFIED: "content-filter",
  MALFORMED_FUNCTION_CALL: "error",
  MALFORMED_RESPONSE: "error",
  MISSING_THOUGHT_SIGNATURE: "error",
  UNEXPECTED_TOOL_CALL: "error",
  TOO_MANY_TOOL_CALLS: "error",
  NO_IMAGE: "error",
  IMAGE_OTHER: "other",
  OTHER: "other",
};
const toFinishReason = (reason: string): FinishReason =>
  Object.hasOwn(finishReasons, reason) ? finishReasons[reason]! : "other";

/** The state with the tokens of this event counted, and nothing shown. */
export function countUsage(state: ChunkState, event: Event): ChunkState {
  const { usageMetadata, content, partial, finishReason } = event;
  // Live, words carry no counts, and there are many of them.
  if (partial && !usageMetadata) return state;
  const key = `${event.invocationId}/${event.author}/${event.branch ?? ""}`;
  const last = state.usage.get(key) ?? { before: noUsage, call: noUsage, ended: false };
  const answered = getFunctionResponses(event).length > 0 || event.customMetadata?.["kept"] !== undefined;
  const speaks = content !== undefined && !answered;
  // What is said after an answer or a finish reason belongs to the next call; a count without content trails this one.
  const next: AgentUsage =
    last.ended && speaks ? { before: addUsage(last.before, last.call), call: noUsage, ended: false } : last;
  const call = usageMetadata ? toUsage(usageMetadata) : next.call;
  const ended = next.ended || answered || (speaks && !partial && finishReason !== undefined);
  return { ...state, usage: new Map(state.usage).set(key, { ...next, call, ended }) };
}

function toUsage(metadata: GenerateContentResponseUsageMetadata): Usage {
  return {
    inputTokens: (metadata.promptTokenCount ?? 0) + (metadata.toolUsePromptTokenCount ?? 0),
    outputTokens: (metadata.candidatesTokenCount ?? 0) + (metadata.thoughtsTokenCount ?? 0),
    totalTokens: metadata.totalTokenCount ?? 0,
    reasoningTokens: metadata.thoughtsTokenCount ?? 0,
    cachedInputTokens: metadata.cachedContentTokenCount ?? 0,
  };
}

function addUsage(a: Usage, b: Usage): Usage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    totalTokens: a.totalTokens + b.totalTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
  };
}
