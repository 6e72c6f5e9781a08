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
    const data = readBase64(content);
    return data && { mediaType, header, data };
  }
  try {
    return { mediaType, header: undefined, data: Buffer.from(decodeURIComponent(content)) };
  } catch {
    return undefined;
  }
}

/** A media type in lower case, without parameters; undefined if the text is not a media type. */
export function toMediaType(type: string): string | undefined {
  const name = type.split(";")[0]?.trim().toLowerCase() ?? "";
  return /^[a-z0-9][\w.+-]*\/[a-z0-9][\w.+-]*$/.test(name) ? name : undefined;
}

/** The bytes of base64 with its padding, which comes back from them as it was; undefined for any other text. */
export function readBase64(text: string): Buffer | undefined {
  // Node takes the other alphabet too, and skips what is in neither, so that there are fewer bytes.
  if (text.length % 4 !== 0 || text.includes("-") || text.includes("_")) return undefined;
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const data = Buffer.from(text, "base64");
  if (data.byteLength !== (text.length / 4) * 3 - padding) return undefined;
  // Bits of the last character that stand for nothing must be zero.
  const last = data.subarray(Math.max(0, data.byteLength - 3 + padding)).toString("base64");
  return last === text.slice(text.length - last.length) ? data : undefined;
}
