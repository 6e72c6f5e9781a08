import { checkNumber } from "../support/index.ts";

/** Which files users may attach, and how files travel. */
export interface FileOptions {
  /** Media types that users may attach: exact ones, or all of a kind (`image/*`). Default: the pictures, sounds and documents that Gemini reads and that carry no script. */
  types?: readonly string[];
  /** Largest file that a user may attach, in bytes. Default 10 MiB. The whole message must fit into `maxBodyBytes` too. */
  maxBytes?: number;
  /** How many files one message may have. Default 20. */
  maxFiles?: number;
  /**
   * Addresses that a file of a user may have instead of being a data URL. The model provider fetches them, with its own rights. A
   * list of prefixes (`https://cdn.example/`) or a function. Default: none.
   */
  allowUrl?: readonly string[] | ((url: string) => boolean);
  /** Files up to this size travel as data URLs, larger ones as an address. In bytes. Default 256 KiB. */
  inlineBytes?: number;
}

export interface FileLimits {
  types: readonly string[];
  maxBytes: number;
  maxFiles: number;
  allowUrl: (url: string) => boolean;
  inlineBytes: number;
  largeOutputBytes: number;
}

/** Types that Gemini reads and that carry no script. */
const defaultTypes: readonly string[] = [
  ...["png", "jpeg", "webp", "gif", "heic", "heif"].map((kind) => `image/${kind}`),
  ...["wav", "x-wav", "mpeg", "mp3", "aac", "ogg", "flac", "mp4", "webm"].map((kind) => `audio/${kind}`),
  ...["text/plain", "text/markdown", "text/csv", "application/json", "application/pdf"],
];

/** The options with their defaults. */
export function toFileLimits(options: { files?: FileOptions; largeOutputBytes?: number }): FileLimits {
  const { types = defaultTypes, maxBytes, maxFiles, allowUrl, inlineBytes } = options.files ?? {};
  return {
    types: types.map((type) => type.toLowerCase()),
    maxBytes: maxBytes ?? 10 * 1024 * 1024,
    maxFiles: maxFiles ?? 20,
    allowUrl: toRule(allowUrl),
    inlineBytes: inlineBytes ?? 256 * 1024,
    largeOutputBytes: options.largeOutputBytes ?? 256 * 1024,
  };
}

/** Compared as the URL parser writes them, so that `https://cdn.example\@evil` or capitals cannot pass for a prefix. */
function toRule(allowUrl: FileOptions["allowUrl"] = []): (url: string) => boolean {
  if (typeof allowUrl === "function")
    return (url) => {
      // A function in plain JavaScript may return a promise, which allows nothing.
      const said: unknown = allowUrl(url);
      return said === true;
    };
  const prefixes = allowUrl.map((prefix) => new URL(prefix).href);
  return (url) => {
    const href = URL.canParse(url) ? new URL(url).href : undefined;
    return href !== undefined && href === url && prefixes.some((prefix) => href.startsWith(prefix));
  };
}

/** Throws a sentence that names the first wrong option. */
export function checkFileOptions({ files, largeOutputBytes }: { files?: unknown; largeOutputBytes?: unknown }): void {
  checkNumber("largeOutputBytes", largeOutputBytes, "positive count");
  if (files === undefined) return;
  if (typeof files !== "object" || files === null || Array.isArray(files))
    throw new Error("The option files must be an object such as { types, maxBytes }.");
  const { types, maxBytes, maxFiles, allowUrl, inlineBytes } = files as Record<keyof FileOptions, unknown>;
  checkNumber("files.maxBytes", maxBytes, "count");
  checkNumber("files.maxFiles", maxFiles, "count");
  checkNumber("files.inlineBytes", inlineBytes, "count");
  if (types !== undefined && !(isTexts(types) && types.every((type) => /^[\w.+-]+\/([\w.+-]+|\*)$/.test(type))))
    throw new Error('The option files.types must be a list of media types such as "image/png" or "image/*".');
  if (allowUrl === undefined || typeof allowUrl === "function") return;
  // Without a path, `https://cdn.example` would also be the beginning of `https://cdn.example.evil.test`.
  if (!(isTexts(allowUrl) && allowUrl.every((prefix) => /^[a-z][a-z0-9+.-]*:\/\/[^/]+\//.test(prefix))))
    throw new Error(
      'The option files.allowUrl must be a function, or a list of prefixes such as "https://cdn.example/" with a slash after the host.',
    );
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
