/** What the first bytes of a file say about its kind. */
const signatures: readonly { kind: RegExp; bytes: readonly (number | undefined)[] }[] = [
  { kind: /^image\/png$/, bytes: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] },
  { kind: /^image\/jpe?g$/, bytes: [0xff, 0xd8, 0xff] },
  { kind: /^image\/gif$/, bytes: ascii("GIF8") },
  { kind: /^image\/webp$/, bytes: [...ascii("RIFF"), ...skip(4), ...ascii("WEBP")] },
  { kind: /^audio\/(x-|vnd\.)?wave?$/, bytes: [...ascii("RIFF"), ...skip(4), ...ascii("WAVE")] },
  { kind: /^(image\/hei[cf]|audio\/(mp4|aac|x-m4a)|video\/.*)$/, bytes: [...skip(4), ...ascii("ftyp")] },
  { kind: /^audio\/(mpeg|mp3)$/, bytes: ascii("ID3") },
  { kind: /^(audio|video|application)\/ogg$/, bytes: ascii("OggS") },
  { kind: /^audio\/(x-)?flac$/, bytes: ascii("fLaC") },
  { kind: /^(audio|video)\/(webm|x-matroska)$/, bytes: [0x1a, 0x45, 0xdf, 0xa3] },
  { kind: /^application\/pdf$/, bytes: ascii("%PDF-") },
  { kind: /zip|officedocument|opendocument|java-archive/, bytes: [...ascii("PK"), 0x03, 0x04] },
  { kind: /^application\/(gzip|x-gzip)$/, bytes: [0x1f, 0x8b] },
  { kind: /executable|msdownload/, bytes: ascii("MZ") },
  { kind: /executable/, bytes: [0x7f, ...ascii("ELF")] },
];

/** Markup that browsers run. It is no picture, sound or PDF. */
const markup = /^\s*<(!doctype|html|svg|script|\?xml|head|body|iframe)\b/i;

/**
 * True when the content of a file is certainly of another kind than its media type says. Content that is not known passes:
 * the type only matters where it is shown, and there browsers are told not to guess.
 */
export function contradictsType(mediaType: string, data: Uint8Array): boolean {
  // Text may begin with any letters.
  if (mediaType.startsWith("text/") || mediaType === "application/json") return data.subarray(0, 1024).includes(0);
  const found = signatures.find(({ bytes }) =>
    bytes.every((byte, index) => byte === undefined || byte === data[index]),
  );
  if (found) return !found.kind.test(mediaType);
  const isMedia = /^(image|audio|video)\//.test(mediaType) || mediaType === "application/pdf";
  return isMedia && mediaType !== "image/svg+xml" && markup.test(Buffer.from(data.subarray(0, 256)).toString("latin1"));
}

function ascii(text: string): number[] {
  return [...Buffer.from(text)];
}

function skip(count: number): undefined[] {
  return Array.from({ length: count }, () => undefined);
}
