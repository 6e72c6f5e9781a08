/** A file that a person has chosen and not sent yet. */
export interface Attachment {
  id: string;
  name: string;
  mediaType: string;
  size: number;
  /** The file as a data URL. */
  url: string;
}

/** Why a file was not taken. */
export interface RefusedFile {
  name: string;
  reason: "type" | "size" | "count" | "total" | "empty" | "unreadable";
}

export const maxFiles = 20;
export const maxFileBytes = 10 * 1024 * 1024;
/** All files of a message. As text in a request they are a third larger. */
export const maxTotalBytes = 10 * 1024 * 1024;

/** Media types by the end of the name, because browsers know no type for some files. */
const typesByEnding: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  webp: "image/webp",
  gif: "image/gif",
  heic: "image/heic",
  heif: "image/heif",
  pdf: "application/pdf",
  txt: "text/plain",
  log: "text/plain",
  md: "text/markdown",
  csv: "text/csv",
  json: "application/json",
  wav: "audio/wav",
  mp3: "audio/mpeg",
  aac: "audio/aac",
  ogg: "audio/ogg",
  flac: "audio/flac",
  m4a: "audio/mp4",
};
const knownTypes = new Set([...Object.values(typesByEnding), "audio/webm", "audio/mp3", "audio/x-wav"]);

/** What the file picker offers. */
export const acceptedTypes = [...knownTypes, ...Object.keys(typesByEnding).map((ending) => `.${ending}`)].join(",");

/** The type to send a file as; undefined if the server does not take such files. */
export function mediaTypeOf({ name, type }: { name: string; type: string }): string | undefined {
  const [given = ""] = type.toLowerCase().split(";");
  if (knownTypes.has(given)) return given;
  const ending = name.toLowerCase().split(".").at(-1) ?? "";
  const guessed = Object.hasOwn(typesByEnding, ending) ? typesByEnding[ending] : undefined;
  // The browser knows better than the name, except that it has several names for text.
  return given === "" || (given.startsWith("text/") && given !== "text/html") ? guessed : undefined;
}

export interface CheckedFiles<F> {
  taken: { file: F; mediaType: string }[];
  refused: RefusedFile[];
}

/** Checks files before they are read, so that a person knows before sending what cannot be sent. */
export function checkFiles<F extends { name: string; type: string; size: number }>(
  before: readonly Pick<Attachment, "size">[],
  files: readonly F[],
): CheckedFiles<F> {
  const taken: CheckedFiles<F>["taken"] = [];
  const refused: RefusedFile[] = [];
  let total = before.reduce((sum, { size }) => sum + size, 0);
  for (const file of files) {
    const mediaType = mediaTypeOf(file);
    const refuse = (reason: RefusedFile["reason"]) => refused.push({ name: file.name, reason });
    if (mediaType === undefined) refuse("type");
    else if (file.size === 0) refuse("empty");
    else if (file.size > maxFileBytes) refuse("size");
    else if (before.length + taken.length >= maxFiles) refuse("count");
    else if (total + file.size > maxTotalBytes) refuse("total");
    else {
      total += file.size;
      taken.push({ file, mediaType });
    }
  }
  return { taken, refused };
}
