import type { Content, Part } from "@google/genai";
import type { UIMessage } from "ai";

/** A user's message as the model reads it: text, and files by value (data URLs) or by reference. */
export function messageToContent(message: UIMessage): Content {
  const parts = message.parts.flatMap((part): Part[] => {
    if (part.type === "text") return part.text ? [{ text: part.text }] : [];
    if (part.type !== "file") return [];
    return [dataUrlToPart(part.url, part.mediaType) ?? { fileData: { mimeType: part.mediaType, fileUri: part.url } }];
  });
  return { role: "user", parts };
}

function dataUrlToPart(url: string, mediaType: string): Part | undefined {
  const comma = url.indexOf(",");
  if (!/^data:/i.test(url) || comma === -1) return undefined;
  const [type, ...flags] = url.slice("data:".length, comma).split(";");
  const data = url.slice(comma + 1);
  const isBase64 = flags.at(-1)?.trim().toLowerCase() === "base64";
  return {
    inlineData: { mimeType: type || mediaType, data: isBase64 ? data : Buffer.from(decoded(data)).toString("base64") },
  };
}

/** A data URL without base64 holds percent-encoded text. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
