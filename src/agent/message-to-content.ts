import type { Content, Part } from "@google/genai";
import type { UIMessage } from "ai";

/** A person's message as the model reads it: text, and files by value (data URLs) or by reference. */
export function messageToContent(message: UIMessage): Content {
  const parts = message.parts.flatMap((part): Part[] => {
    if (part.type === "text") return part.text ? [{ text: part.text }] : [];
    if (part.type !== "file") return [];
    const inline = /^data:([^;,]+)(?:;[^,]*)?;base64,(.*)$/s.exec(part.url);
    if (inline) return [{ inlineData: { mimeType: inline[1], data: inline[2] } }];
    return [{ fileData: { mimeType: part.mediaType, fileUri: part.url } }];
  });
  return { role: "user", parts };
}
