import type { FileUIPart, UIMessage } from "ai";
import { BridgeError, fileIdOf } from "../../protocol/index.ts";
import { quote } from "../../protocol/quote.ts";
import type { AppStore } from "../../stores/app-store.ts";
import { readDataUrl, toMediaType } from "./data-url.ts";
import type { FileLimits } from "./file-options.ts";
import { GatheredFiles } from "./gathered-files.ts";
import { contradictsType } from "./contradicts-type.ts";

/** A checked message, and the files it refers to by address. */
export interface TakenMessage {
  message: UIMessage;
  files: GatheredFiles;
}

/** The length of a data URL from which on the event loop goes on before it is read. */
const largeLength = 1024 * 1024;

/**
 * Checks the files of a user's message. Large ones become files of the chat and are named by their address from then on.
 * Throws a sentence about the first file that is not allowed, and then nothing has been stored; with `leaveOut` such files
 * are missing in the message instead.
 */
export async function takeFiles(
  message: UIMessage,
  owner: string,
  store: Pick<AppStore, "findFile">,
  limits: FileLimits,
  { leaveOut = false } = {},
): Promise<TakenMessage> {
  const files = new GatheredFiles();
  const count = message.parts.filter(({ type }) => type === "file").length;
  if (count > limits.maxFiles && !leaveOut)
    throw new BridgeError("too_large", `A message may have at most ${limits.maxFiles} files; this one has ${count}.`);
  const parts: UIMessage["parts"] = [];
  let room = limits.maxFiles;
  for (const part of message.parts) {
    if (part.type !== "file") {
      parts.push(part);
      continue;
    }
    // Decoding and hashing one file takes its time, and so did parsing it.
    if (part.url.length > largeLength) await new Promise((resolve) => setImmediate(resolve));
    try {
      if (room-- > 0) parts.push(await takeFile(part, { owner, store, limits, files }));
    } catch (error) {
      if (!leaveOut || !(error instanceof BridgeError)) throw error;
    }
  }
  return { message: count === 0 ? message : { ...message, parts }, files };
}

interface Taking {
  owner: string;
  store: Pick<AppStore, "findFile">;
  limits: FileLimits;
  files: GatheredFiles;
}

async function takeFile(part: FileUIPart, taking: Taking): Promise<FileUIPart> {
  const { url, filename = "" } = part;
  const { limits } = taking;
  if (filename.length > 256)
    throw new BridgeError("too_large", `The name of a file is longer than 256 characters: it has ${filename.length}.`);
  if (/^data:/i.test(url)) return takeData(part, taking);
  const id = fileIdOf(url);
  if (id !== undefined) return takeStored(part, id, taking);
  checkType(part.mediaType, nameOf(part), limits);
  // The model's provider would fetch the address with rights of its own, also `gs://` and addresses inside its network.
  if (isAllowed(url, limits)) return part;
  throw new BridgeError(
    "invalid",
    `The address ${quote(url)} of ${nameOf(part)} is not allowed. Send the file as a data URL, or allow the address with the option files.allowUrl.`,
  );
}

function takeData(part: FileUIPart, { limits, files }: Taking): FileUIPart {
  const { url, filename } = part;
  const { maxBytes, inlineBytes } = limits;
  const name = nameOf(part);
  // Base64 has four characters for three bytes. Nothing larger is decoded.
  if (url.length > 4 * maxBytes + 1024) throw tooLarge(name, maxBytes);
  const read = readDataUrl(url);
  if (!read)
    throw new BridgeError("invalid", `The data URL of ${name} is not valid: it needs a comma and valid base64.`);
  if (read.data.byteLength > maxBytes) throw tooLarge(name, maxBytes);
  const declared = checkType(part.mediaType, name, limits);
  const mediaType = read.mediaType ?? declared;
  if (mediaType !== declared)
    throw new BridgeError(
      "invalid",
      `The media type of ${name} is ${quote(declared)}, but its data URL says ${quote(mediaType)}.`,
    );
  if (contradictsType(mediaType, read.data))
    throw new BridgeError("unsupported_media_type", `The content of ${name} is not ${mediaType}.`);
  return read.data.byteLength <= inlineBytes ? part : { ...part, url: files.add(mediaType, read.data, filename) };
}

/** A file that the owner has already, in this chat or another one. It becomes a file of this chat too. */
async function takeStored(part: FileUIPart, id: string, { owner, store, limits, files }: Taking): Promise<FileUIPart> {
  const file = await store.findFile(owner, id);
  if (!file) throw new BridgeError("not_found", `There is no file ${id}.`);
  checkType(file.mediaType, nameOf(part), limits);
  files.add(file.mediaType, file.data, file.name);
  return { ...part, mediaType: file.mediaType };
}

/** Throws for a media type that is not allowed. */
function checkType(type: string, name: string, { types }: FileLimits): string {
  const mediaType = toMediaType(type);
  const kind = mediaType?.split("/")[0];
  if (mediaType !== undefined && (types.includes(mediaType) || types.includes(`${kind}/*`))) return mediaType;
  throw new BridgeError(
    "unsupported_media_type",
    `Files of the type ${quote(type)} are not allowed, such as ${name}. Allowed are ${types.join(", ")}.`,
  );
}

/** A rule of the server's owner that throws allows nothing. */
function isAllowed(url: string, { allowUrl }: FileLimits): boolean {
  try {
    return allowUrl(url);
  } catch {
    return false;
  }
}

function nameOf({ filename }: FileUIPart): string {
  return filename ? `the file ${quote(filename)}` : "a file";
}

function tooLarge(name: string, maxBytes: number): BridgeError {
  return new BridgeError("too_large", `A file may have at most ${maxBytes} bytes; ${name} has more.`);
}
