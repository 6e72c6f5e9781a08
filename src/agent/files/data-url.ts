/** A data URL, read. */
export interface DataUrl {
  /** Its media type in lower case, without parameters; undefined if it names none. */
  mediaType: string | undefined;
  /** Everything before the content, if the content in base64 comes back from the bytes as it was. */
  header: string | undefined;
  data: Buffer;
}

/** Reads a data URL. Undefined if the address is no data URL, or if its content is not valid. */
export function readDataUrl(url: string): DataUrl | undefined {
  const comma = url.indexOf(",");
  if (!/^data:/i.test(url) || comma === -1) return undefined;
  const header = url.slice(0, comma + 1);
  const [type = "", ...parameters] = header.slice("data:".length, -1).split(";");
  const mediaType = toMediaType(type);
  const content = url.slice(comma + 1);
  if (parameters.at(-1)?.trim().toLowerCase() === "base64") {
    const data = Buffer.from(content, "base64");
    // Node skips what is not base64. Only text that comes back the same was valid.
    return data.toString("base64") === content ? { mediaType, header, data } : undefined;
  }
  try {
    return { mediaType, header: undefined, data: Buffer.from(decodeURIComponent(content)) };
  } catch {
    return undefined;
  }
}

/** A media type in lower case, without parameters; undefined if it is none. */
export function toMediaType(type: string): string | undefined {
  const name = type.split(";")[0]?.trim().toLowerCase() ?? "";
  return /^[a-z0-9][\w.+-]*\/[a-z0-9][\w.+-]*$/.test(name) ? name : undefined;
}
