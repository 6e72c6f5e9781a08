import type { Event } from "@google/adk";
import type { FunctionResponse, Part } from "@google/genai";
import type { FinishReason, UIMessageChunk } from "ai";
import { hasHeldCall, metadataOf } from "../adk/event-metadata.ts";
import { type Call, callsOf, isReserved, keptOf, responsesOf } from "../adk/history.ts";
import { mcpError } from "../adk/tool-result.ts";
import { isFinishReason, modelErrorText, refusalText, toFinishReason } from "./finish-reason.ts";
import { sourcesOf } from "./sources.ts";
import { countUsage, type UsageCounts } from "./usage.ts";

/**
 * ADK events in, AI SDK chunks out. A pure function: one event and the state so far give the next chunks and the next
 * state. Nothing else decides the shape of a reply.
 *
 *   start-step · reasoning · text · tool-input-start/-available per call · [approval requests] · outputs · finish-step
 *
 * A step is one model call with its tools. It ends with the responses of the tools, or with the model's finish reason. ADK
 * streams text as partial events and then repeats it in one complete event; the repetition closes the text and is not
 * shown again. Open parts are closed before a step ends, because `ai@6` rejects a delta for a part of an earlier step.
 */
export interface ChunkState {
  inStep: boolean;
  /** The open text or reasoning part. */
  open?: { kind: "text" | "reasoning"; id: string };
  /** Parts started so far; numbers their ids. */
  parts: number;
  /** Text and reasoning that was streamed and not yet repeated. */
  streamed: { text: string; reasoning: string };
  /** Calls that are announced with their outcome, see `defer`. */
  deferred: ReadonlyMap<string, Call>;
  sources: ReadonlySet<string>;
  /** True once anything was shown. */
  shown: boolean;
  /** True until the current model call has produced something. A call that ends like this was refused. */
  silent: boolean;
  finishReason: FinishReason;
  error?: string;
  usage: UsageCounts;
}

export interface ChunkOptions {
  /**
   * Calls to announce only with their outcome: agents run as tools. Such a call waits for the approvals of the agent's own
   * calls, and a stock client does not send answers while another part of the message is open.
   */
  defer?: (toolName: string) => boolean;
  /**
   * The event is from an agent run as a tool. Its calls are shown, its text is not: that is its caller's to use. The calls
   * belong to the caller's step, because stock clients send the answers to all questions of the last step together.
   */
  inner?: boolean;
}

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
  let state = withUsage(before, event);
  const chunks: UIMessageChunk[] = [];
  const emit = ([next, more]: Step) => {
    state = next;
    chunks.push(...more);
  };

  if (!options.inner) state = readEnding(state, event);
  const parts = event.content?.parts ?? [];
  const calls = event.partial ? [] : callsOf(event);
  const inputs = new Map(metadataOf(event).inputs?.map(({ id, input }) => [id, input]));
  for (const part of parts) {
    if (part.functionCall) {
      const call = calls.find(({ id }) => id === part.functionCall?.id);
      if (call) emit(callToChunks(state, { ...call, args: inputs.get(call.id) ?? call.args }, options));
    } else if (!part.functionResponse && !options.inner) emit(partToChunks(state, part, event.partial ?? false));
  }
  if (!event.partial && parts.some((part) => part.text)) state = { ...state, streamed: { text: "", reasoning: "" } };
  if (!options.inner) emit(sourcesToChunks(state, event));

  const responses = [...responsesOf(event), ...keptOf(event).map((part) => part.functionResponse)];
  // What a tool said when it had begun is shown from its row.
  const begun = metadataOf(event).unknown ?? [];
  for (const response of responses) if (!begun.includes(response.id ?? "")) emit(responseToChunks(state, response));
  // ADK puts all responses of a step into one event. Held calls are removed from it, but the step still ends here.
  const answered = responses.length > 0 || hasHeldCall(event);
  const ended = !event.partial && event.finishReason !== undefined && parts.length > 0 && calls.length === 0;
  if (options.inner || !(answered || ended)) return [state, chunks];
  emit(closeStep(state));
  return [answered ? { ...state, silent: true } : state, chunks];
}

/** The state with the event's usage counted, and nothing shown. */
export function withUsage(state: ChunkState, event: Event): ChunkState {
  const usage = countUsage(state.usage, event);
  return usage === state.usage ? state : { ...state, usage };
}

/** Announces a call that was deferred; otherwise does nothing. */
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

/** Ends the open step and the part that is open inside it. */
export function closeStep(before: ChunkState): Step {
  const [state, chunks] = closePart(before);
  if (!state.inStep) return [state, chunks];
  return [{ ...state, inStep: false, streamed: { text: "", reasoning: "" } }, [...chunks, { type: "finish-step" }]];
}

function closePart(state: ChunkState): Step {
  const { open, ...rest } = state;
  if (!open) return [state, []];
  return [rest, [{ type: `${open.kind}-end`, id: open.id }]];
}

function openPart(
  before: ChunkState,
  kind: "text" | "reasoning",
): [state: ChunkState, id: string, chunks: UIMessageChunk[]] {
  if (before.open?.kind === kind) return [before, before.open.id, []];
  const [stepped, chunks] = openStep(before);
  const [state, more] = closePart(stepped);
  const parts = state.parts + 1;
  const id = `${kind}-${parts}`;
  return [{ ...state, parts, open: { kind, id } }, id, [...chunks, ...more, { type: `${kind}-start`, id }]];
}

function partToChunks(state: ChunkState, part: Part, partial: boolean): Step {
  if (part.text) return textToChunks(state, part.text, part.thought ? "reasoning" : "text", partial);
  const chunk = mediaToChunk(part);
  // `ai@6` has no part for a picture inside a thought.
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
    const [opened, id, start] = openPart(state, kind);
    chunks.push(...start, { type: `${kind}-delta`, id, delta });
    state = opened;
  }
  if (partial) return [state, chunks];
  const [closed, end] = closePart(state);
  return [closed, [...chunks, ...end]];
}

/** The rest of the streamed text, and what the complete text adds to it. */
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
  // ADK's shape for a throw, and the ledger's for a failed call. A result with an error among other fields is a result.
  const isFailure = response && (Object.keys(response).length === 1 || response["status"] === "failed");
  const error = isFailure ? response["error"] : mcpError(response);
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
  const fresh = sourcesOf(event).filter(({ key }) => !before.sources.has(key));
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

/** Reads from an event how the model call ended. */
function readEnding(
  state: ChunkState,
  { finishReason, errorCode, errorMessage, content, usageMetadata, partial, turnComplete }: Event,
): ChunkState {
  // A response cut short by a filter has its finish reason as an error code too. That is an ending, not a failure.
  const isEnding = errorCode !== undefined && isFinishReason(errorCode);
  if (errorCode && !isEnding)
    return { ...state, error: state.error ?? modelErrorText(errorCode, errorMessage), shown: true };
  const reason = finishReason ?? errorCode;
  const next = reason === undefined ? state : { ...state, finishReason: toFinishReason(reason) };
  // A refused prompt arrives as nothing but a token count when streamed, and as a reason without content otherwise. A live
  // model also counts at the end of a turn in which it had nothing to say; that is not a refusal.
  const isCount = usageMetadata !== undefined && !turnComplete;
  if (partial || content?.parts?.length || !state.silent || (reason === undefined && !isCount)) return next;
  const refused = reason === undefined || (next.finishReason !== "stop" && next.finishReason !== "length");
  return refused ? { ...next, error: refusalText(reason, errorMessage), shown: true } : next;
}
