import type { UIMessageChunk } from "ai";
import { toSafeJson } from "../../protocol/index.ts";
import type { NewLogEntry } from "../../stores/index.ts";
import { readDataUrl, toMediaType } from "./data-url.ts";
import type { FileLimits } from "./file-options.ts";
import type { GatheredFiles } from "./gathered-files.ts";
import { mapFileUrls, toInlineAddress } from "./inline-address.ts";
import { cutErrorText, keepOutput } from "./large-outputs.ts";

/** Shorter files stay where they are: an address would not be much shorter. */
export const minKeptBytes = 1024;

/** An entry as the log stores it: its files are gathered, its large outputs too, and all values are safe for clients. */
export function keepEntry<T extends NewLogEntry>(entry: T, limits: FileLimits, files: GatheredFiles): T {
  if (entry.kind === "chunk") {
    const chunk = keepChunk(entry.chunk, limits, files);
    return chunk === entry.chunk ? entry : { ...entry, chunk };
  }
  if ((entry.kind === "begin" || entry.kind === "end") && entry.message)
    return {
      ...entry,
      message: mapFileUrls(entry.message, (url, mediaType, name) => keepUrl(url, mediaType, limits, files, name)),
    };
  return entry;
}

function keepChunk(chunk: UIMessageChunk, limits: FileLimits, files: GatheredFiles): UIMessageChunk {
  switch (chunk.type) {
    case "text-delta":
    case "reasoning-delta":
      // By far the most frequent ones.
      return chunk;
    case "file":
      return { ...chunk, url: keepUrl(chunk.url, chunk.mediaType, limits, files) };
    case "tool-input-available":
    case "tool-input-error":
      return { ...chunk, input: toSafeJson(chunk.input) };
    case "tool-output-available":
      return { ...chunk, output: keepOutput(chunk.output, limits.largeOutputBytes, files) };
    case "tool-output-error":
      return { ...chunk, errorText: cutErrorText(chunk.errorText) };
    case "start":
    case "finish":
    case "message-metadata":
      return chunk.messageMetadata === undefined
        ? chunk
        : { ...chunk, messageMetadata: toSafeJson(chunk.messageMetadata) };
    default:
      return "data" in chunk ? { ...chunk, data: toSafeJson(chunk.data) } : chunk;
  }
}

/** The address in the place of a data URL. */
function keepUrl(
  url: string,
  mediaType: string,
  { inlineBytes }: Pick<FileLimits, "inlineBytes">,
  files: GatheredFiles,
  name?: string,
): string {
  if (!/^data:/i.test(url) || url.length < minKeptBytes) return url;
  const read = readDataUrl(url);
  if (!read) return url;
  const isInline = read.data.byteLength <= inlineBytes;
  // Content in another encoding than base64 would not come back as it was.
  if (isInline && read.header === undefined) return url;
  const address = files.add(read.mediaType ?? toMediaType(mediaType) ?? "application/octet-stream", read.data, name);
  return isInline && read.header !== undefined ? toInlineAddress(address, read.header) : address;
}
