import { fileIdOf, isLargeOutput, type LargeOutput, toSafeJson } from "../../protocol/index.ts";
import type { FileStore, JsonObject } from "../../stores/index.ts";
import { GatheredFiles } from "./gathered-files.ts";

const previewBytes = 4096;
/** The longest error text that clients get, in characters. */
const maxErrorText = 16 * 1024;
const jsonType = "application/json";

/** An output as it is stored and shown: safe for every client, and as a preview if it is too large. */
export function keepOutput(output: unknown, maxBytes: number, files: GatheredFiles): unknown {
  const text = toJson(output);
  if (text === undefined) return "The tool ran; its result could not be written as JSON.";
  return isWithin(text, maxBytes) ? toSafeJson(output) : toLargeOutput(text, files);
}

/** The same for an output that the model gets too: what is not too large stays as it is. */
export function keepResponse(response: JsonObject, maxBytes: number, files: GatheredFiles): JsonObject {
  const text = toJson(response);
  return text === undefined || isWithin(text, maxBytes) ? response : { ...toLargeOutput(text, files) };
}

/** True when `output` is the preview of `whole`. */
export function isPreviewOf(output: unknown, whole: unknown): boolean {
  const text = toJson(whole);
  if (!isLargeOutput(output) || text === undefined) return false;
  return toLargeOutput(text, new GatheredFiles()).url === output.url;
}

/** The whole of an output that is stored as a preview; every other value as it is. */
export async function readWhole<T>(output: T, chat: string, store: FileStore): Promise<T> {
  if (!isLargeOutput(output)) return output;
  const file = await store.getFile(chat, fileIdOf(output.url) ?? "");
  // A tool may return a value that looks like a preview. Only the preview of a stored output stands for it.
  if (file?.mediaType !== jsonType || file.data.byteLength !== output.size) return output;
  if (previewOf(file.data) !== output.preview) return output;
  return JSON.parse(Buffer.from(file.data).toString()) as T;
}

/** An error text that is not too long to be shown. */
export function cutErrorText(text: string): string {
  if (text.length <= maxErrorText) return text;
  return `${text.slice(0, maxErrorText)}… (${text.length} characters in all)`;
}

function toLargeOutput(text: string, files: GatheredFiles): LargeOutput {
  const data = Buffer.from(text);
  return { preview: previewOf(data), size: data.byteLength, url: files.add(jsonType, data) };
}

/** The decoder leaves out a character that the cut has divided. */
function previewOf(data: Uint8Array): string {
  return new TextDecoder().decode(data.subarray(0, previewBytes), { stream: true });
}

function isWithin(text: string, maxBytes: number): boolean {
  // A UTF-16 unit has at most three bytes.
  return text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes;
}

function toJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value) ?? "null";
  } catch {
    return toJsonWithText(value);
  }
}

/** The same with big integers as text. Slower, and rarely needed. */
function toJsonWithText(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, (_key, item: unknown) => (typeof item === "bigint" ? String(item) : item));
  } catch {
    return undefined;
  }
}
