import type { UIMessage } from "ai";
import type { ChatRequestMessage } from "../protocol/index.ts";

/** How many earlier messages a new chat takes over, and how many characters they may have together. */
const limits = { messages: 500, characters: 4 * 1024 * 1024 };

/**
 * The messages before the last one, for a chat that begins with this request. The newest count if there are more than a
 * chat takes over. Only texts and files with their content in the address are taken: calls and their results belong to
 * the chat in which they were made.
 */
export function earlierMessages(
  messages: readonly ChatRequestMessage[],
  { newId = () => crypto.randomUUID(), ...given }: Partial<typeof limits> & { newId?: () => string } = {},
): UIMessage[] {
  const { messages: maxMessages, characters: maxCharacters } = { ...limits, ...given };
  const ids = new Set([messages.at(-1)?.id]);
  const earlier: UIMessage[] = [];
  let characters = 0;
  for (const { id, role, parts } of messages.slice(0, -1).toReversed()) {
    if (role !== "user" && role !== "assistant") continue;
    const kept = parts.flatMap(keptPart);
    if (kept.length === 0) continue;
    characters += kept.reduce((sum, part) => sum + sizeOf(part), 0);
    if (earlier.length === maxMessages || characters > maxCharacters) break;
    const own = id === undefined || ids.has(id) ? newId() : id;
    ids.add(own);
    earlier.unshift({ id: own, role, parts: kept });
  }
  return earlier;
}

type Part = UIMessage["parts"][number];

function keptPart(part: ChatRequestMessage["parts"][number]): Part[] {
  const { type, text, url, mediaType, filename, data, media_type: imageType } = part;
  if (type === "text" && typeof text === "string" && text !== "") return [{ type: "text", text }];
  if (type === "file" && typeof url === "string" && /^data:/i.test(url) && typeof mediaType === "string")
    return [{ type: "file", url, mediaType, ...(typeof filename === "string" && { filename }) }];
  if (type === "image" && typeof data === "string" && typeof imageType === "string")
    return [{ type: "file", url: `data:${imageType};base64,${data}`, mediaType: imageType }];
  return [];
}

function sizeOf(part: Part): number {
  if (part.type === "text") return part.text.length;
  return part.type === "file" ? part.url.length : 0;
}
