import type { UIMessage, UIMessageChunk } from "ai";

type Part = UIMessage["parts"][number];
type TextPart = Extract<Part, { type: "text" | "reasoning" }>;
/** A tool part with the fields of all its states. */
type ToolPart = { type: string; toolCallId: string; state: string; toolName?: string } & Record<string, unknown>;

/**
 * Builds an assistant message from its chunks, as AI SDK's reader does. That reader copies the whole message for every
 * chunk, so its cost grows with the square of the length; this one adds each chunk in place.
 *
 * The message it begins with becomes part of the result, and is changed. Chunks are not changed.
 */
export class FoldedMessage {
  readonly #parts: Part[];
  readonly #id: string;
  #metadata: unknown;
  #isEmpty: boolean;
  readonly #texts = new Map<string, TextPart>();
  readonly #calls = new Map<string, ToolPart>();
  readonly #data = new Map<string, { data: unknown }>();
  /** Calls since the last `start-step`. A call of an earlier step with the same id is another part. */
  readonly #stepCalls = new Set<string>();

  constructor(id: string, message?: UIMessage) {
    this.#id = id;
    this.#parts = [...(message?.parts ?? [])];
    this.#metadata = message?.metadata;
    this.#isEmpty = message === undefined;
    for (const part of this.#parts) {
      if (part.type === "step-start") this.#stepCalls.clear();
      else if ("toolCallId" in part) this.#noteCall(part);
      else if ("data" in part && "id" in part) this.#data.set(dataKey(part.type, part.id), part);
    }
  }

  /** The message so far; undefined before the first chunk. */
  get message(): UIMessage | undefined {
    if (this.#isEmpty) return undefined;
    const metadata = this.#metadata === undefined ? {} : { metadata: this.#metadata };
    return { id: this.#id, role: "assistant", parts: this.#parts, ...metadata };
  }

  /** Adds a chunk. Throws for a chunk that does not fit the ones before it, and then changes nothing. */
  add(chunk: UIMessageChunk): void {
    this.#isEmpty = false;
    switch (chunk.type) {
      case "start":
      case "finish":
      case "message-metadata":
        this.#metadata = merge(this.#metadata, chunk.messageMetadata);
        return;
      case "error":
        // It ended the reply. A stored message has it as metadata.
        this.#metadata = merge(this.#metadata, { error: chunk.errorText });
        return;
      case "abort":
      case "finish-step":
        return;
      case "start-step":
        this.#stepCalls.clear();
        this.#parts.push({ type: "step-start" });
        return;
      case "text-start":
      case "reasoning-start": {
        const part =
          chunk.type === "text-start" ? ({ type: "text" } as const) : { type: "reasoning" as const, id: chunk.id };
        this.#startText(chunk.id, { ...part, text: "", ...metadataOf(chunk), state: "streaming" } as TextPart);
        return;
      }
      case "text-delta":
      case "reasoning-delta":
      case "text-end":
      case "reasoning-end":
        this.#continueText(chunk);
        return;
      case "file":
      case "source-url":
      case "source-document":
        this.#parts.push(chunk);
        return;
      case "tool-input-start":
      case "tool-input-available":
      case "tool-input-error":
        this.#call(chunk);
        return;
      case "tool-approval-request":
        this.#ask(chunk);
        return;
      case "tool-output-available":
        this.#settle(chunk.toolCallId, {
          state: "output-available",
          output: chunk.output,
          preliminary: chunk.preliminary,
          errorText: undefined,
        });
        return;
      case "tool-output-error":
        this.#settle(chunk.toolCallId, { state: "output-error", errorText: chunk.errorText, output: undefined });
        return;
      case "tool-output-denied":
        this.#settle(chunk.toolCallId, { state: "output-denied" });
        return;
      default:
        if (chunk.type.startsWith("data-") && "data" in chunk) return this.#addData(chunk);
        throw new Error(`There is no way to add a chunk of type ${chunk.type} to a message.`);
    }
  }

  #startText(id: string, part: TextPart): void {
    this.#texts.set(textKey(part.type, id), part);
    this.#parts.push(part);
  }

  #continueText(
    chunk: UIMessageChunk & { type: "text-delta" | "reasoning-delta" | "text-end" | "reasoning-end" },
  ): void {
    const key = textKey(chunk.type.startsWith("text") ? "text" : "reasoning", chunk.id);
    const part = this.#texts.get(key);
    if (!part) throw new Error(`${chunk.type} came for ${chunk.id}, which has not begun.`);
    if ("delta" in chunk) part.text += chunk.delta;
    else {
      part.state = "done";
      this.#texts.delete(key);
    }
    Object.assign(part, metadataOf(chunk));
  }

  #call(chunk: UIMessageChunk & { type: "tool-input-start" | "tool-input-available" | "tool-input-error" }): void {
    const { toolCallId, toolName, dynamic = false, title } = chunk;
    const state =
      chunk.type === "tool-input-start"
        ? "input-streaming"
        : chunk.type === "tool-input-available"
          ? "input-available"
          : "output-error";
    const fields = withoutUndefined({
      state,
      title,
      input: "input" in chunk ? chunk.input : undefined,
      errorText: "errorText" in chunk ? chunk.errorText : undefined,
      ...(chunk.providerMetadata && { callProviderMetadata: chunk.providerMetadata }),
    });
    const known = this.#stepCalls.has(toolCallId) ? this.#calls.get(toolCallId) : undefined;
    if (known) {
      clearState(known);
      Object.assign(known, fields);
      return;
    }
    const named = dynamic ? { type: "dynamic-tool", toolName } : { type: `tool-${toolName}` };
    const part: ToolPart = { ...named, toolCallId, state, ...fields };
    this.#noteCall(part);
    this.#parts.push(part as unknown as Part);
  }

  #ask(chunk: UIMessageChunk & { type: "tool-approval-request" }): void {
    const { approvalId, toolCallId } = chunk;
    // The fields of AI SDK 7.
    const { approvalDescriptor, reason } = chunk as { approvalDescriptor?: unknown; reason?: string };
    const approval = withoutUndefined({ id: approvalId, descriptor: approvalDescriptor, requestReason: reason });
    Object.assign(this.#find(toolCallId), { state: "approval-requested", approval });
  }

  #settle(toolCallId: string, fields: Record<string, unknown>): void {
    const part = this.#find(toolCallId);
    if (fields["state"] !== "output-denied") clearState(part, "input");
    Object.assign(part, withoutUndefined(fields));
  }

  #find(toolCallId: string): ToolPart {
    const part = this.#calls.get(toolCallId);
    if (!part) throw new Error(`There is no call ${toolCallId} in this message.`);
    return part;
  }

  #noteCall(part: ToolPart): void {
    this.#calls.set(part.toolCallId, part);
    this.#stepCalls.add(part.toolCallId);
  }

  #addData(chunk: { type: string; id?: string; data: unknown; transient?: boolean }): void {
    if (chunk.transient) return;
    const key = chunk.id === undefined ? undefined : dataKey(chunk.type, chunk.id);
    const known = key === undefined ? undefined : this.#data.get(key);
    if (known) {
      known.data = chunk.data;
      return;
    }
    // A copy, because other readers of the log have the chunk too.
    const part = { ...chunk };
    if (key !== undefined) this.#data.set(key, part);
    this.#parts.push(part as unknown as Part);
  }
}

/** A message from its chunks. Chunks that do not fit are passed to `onError` and left out. */
export function foldMessage(
  id: string,
  chunks: Iterable<UIMessageChunk>,
  { message, onError }: { message?: UIMessage | undefined; onError: (error: unknown) => void },
): UIMessage | undefined {
  const folded = new FoldedMessage(id, message);
  for (const chunk of chunks) {
    try {
      folded.add(chunk);
    } catch (error) {
      onError(error);
    }
  }
  return folded.message;
}

/** Removes what belongs to the state that a call leaves. */
function clearState(part: ToolPart, keep?: "input"): void {
  if (keep !== "input") delete part["input"];
  delete part["output"];
  delete part["errorText"];
  delete part["preliminary"];
}

function metadataOf({ providerMetadata }: { providerMetadata?: unknown }): { providerMetadata?: unknown } {
  return providerMetadata === undefined ? {} : { providerMetadata };
}

const textKey = (type: string, id: string) => `${type} ${id}`;
const dataKey = (type: string, id: unknown) => JSON.stringify([type, id]);

/** AI SDK leaves these out when it merges metadata. */
const unsafeKeys: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

/** Objects are merged field by field, everything else is replaced. */
function merge(base: unknown, added: unknown): unknown {
  if (added === undefined) return base;
  if (!isObject(base) || !isObject(added)) return added;
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(added)) if (!unsafeKeys.has(key)) merged[key] = merge(merged[key], value);
  return merged;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function withoutUndefined(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
