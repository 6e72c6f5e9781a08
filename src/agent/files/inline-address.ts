import type { UIMessage } from "ai";

/**
 * The log and the messages hold addresses of files instead of their content. A file that travels as a data URL has the
 * beginning of that URL after its address, `/files/<id>#data:image/png;base64,`, and is put back when it is read.
 */
export function toInlineAddress(address: string, header: string): string {
  return `${address}#${header}`;
}

/** The id of a file and the beginning of its data URL; undefined for any other address. */
export function readInlineAddress(url: string): { id: string; header: string } | undefined {
  const [, id, header] = /^\/files\/([0-9a-f]{32})#(data:[^,]*,)$/i.exec(url) ?? [];
  return id !== undefined && header !== undefined ? { id, header } : undefined;
}

/** The addresses of a message's files. */
export function fileUrls({ parts }: UIMessage): string[] {
  return parts.flatMap((part) => (part.type === "file" ? [part.url] : []));
}

/** A message with other addresses for its files. */
export function mapFileUrls(
  message: UIMessage,
  toUrl: (url: string, mediaType: string, name: string | undefined) => string,
): UIMessage {
  return {
    ...message,
    parts: message.parts.map((part) =>
      part.type === "file" ? { ...part, url: toUrl(part.url, part.mediaType, part.filename) } : part,
    ),
  };
}
