import type { Content, Part } from "@google/genai";
import { fileIdOf, isLargeOutput } from "../../protocol/index.ts";
import type { FileStore, JsonObject } from "../../stores/index.ts";
import { readBase64, toMediaType } from "./data-url.ts";
import type { FileLimits } from "./file-options.ts";
import type { GatheredFiles } from "./gathered-files.ts";
import { minKeptBytes } from "./keep-entry.ts";
import { keepResponse, readWhole } from "./large-outputs.ts";

/**
 * Events in the store hold addresses of files (`fileData`) instead of their content (`inlineData`), and previews of large
 * outputs. `fillIn` puts the content back when a request to the model is built.
 */
interface EventFields {
  content?: Content;
  customMetadata?: { kept?: readonly Part[] };
}

/** An event as it is stored. */
export function keepEvent(event: JsonObject, limits: FileLimits, files: GatheredFiles): JsonObject {
  const { content, customMetadata } = event as EventFields;
  const parts = content?.parts;
  const kept = customMetadata?.kept;
  return {
    ...event,
    ...(parts && { content: { ...content, parts: parts.map((part) => keepPart(part, limits, files)) } }),
    ...(kept && { customMetadata: { ...customMetadata, kept: kept.map((part) => keepPart(part, limits, files)) } }),
  };
}

function keepPart(part: Part, limits: FileLimits, files: GatheredFiles): Part {
  const { inlineData, functionResponse } = part;
  if (functionResponse?.response) {
    const response = keepResponse(functionResponse.response, limits.largeOutputBytes, files);
    return response === functionResponse.response ? part : withResponse(part, response);
  }
  const { data, mimeType, displayName } = inlineData ?? {};
  if (!data || data.length < minKeptBytes) return part;
  const bytes = readBase64(data);
  if (!bytes) return part;
  const { inlineData: _inline, ...rest } = part;
  const fileUri = files.add(toMediaType(mimeType ?? "") ?? "application/octet-stream", bytes, displayName);
  return { ...rest, fileData: { mimeType, fileUri, ...(displayName !== undefined && { displayName }) } };
}

/** Puts files and large outputs back into what is sent to the model. Nothing but the array itself is changed. */
export async function fillIn(contents: Content[], chat: string, store: FileStore): Promise<void> {
  for (const [index, content] of contents.entries()) {
    if (!content.parts?.some(isKept)) continue;
    contents[index] = {
      ...content,
      parts: await Promise.all(content.parts.map((part) => fillPart(part, chat, store))),
    };
  }
}

function isKept({ fileData, functionResponse }: Part): boolean {
  return fileIdOf(fileData?.fileUri ?? "") !== undefined || isLargeOutput(functionResponse?.response);
}

async function fillPart(part: Part, chat: string, store: FileStore): Promise<Part> {
  if (!isKept(part)) return part;
  const { fileData, functionResponse, ...rest } = part;
  if (functionResponse) return withResponse(part, await readWhole(functionResponse.response ?? {}, chat, store));
  const { fileUri = "", mimeType, displayName } = fileData ?? {};
  const file = await store.getFile(chat, fileIdOf(fileUri) ?? "");
  if (!file) return { text: "[a file that is not available any more]" };
  const data = Buffer.from(file.data).toString("base64");
  return {
    ...rest,
    inlineData: { mimeType: mimeType ?? file.mediaType, data, ...(displayName !== undefined && { displayName }) },
  };
}

function withResponse(part: Part, response: JsonObject): Part {
  return { ...part, functionResponse: Object.assign({}, part.functionResponse, { response }) };
}
