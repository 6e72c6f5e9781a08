/** The first byte of a frame with a whole text. */
const wholeText = 0x81;

/**
 * The bytes of WebSocket frames, one for each text. `ws` writes the head and the text of each frame by themselves, and a
 * reply has thousands of small frames; as one piece of bytes they cost a third of that. Frames of a server have no mask.
 */
export function textFrames(texts: readonly string[]): Buffer {
  const lengths = texts.map((text) => Buffer.byteLength(text));
  let size = 0;
  for (const length of lengths) size += headSize(length) + length;
  const bytes = Buffer.allocUnsafe(size);
  let at = 0;
  for (const [index, text] of texts.entries()) {
    const length = lengths[index] ?? 0;
    at = writeHead(bytes, at, length);
    at += bytes.write(text, at);
  }
  return bytes;
}

function headSize(length: number): number {
  return length <= 125 ? 2 : length <= 0xffff ? 4 : 10;
}

/** Returns where the text begins. */
function writeHead(bytes: Buffer, at: number, length: number): number {
  bytes[at] = wholeText;
  if (length <= 125) {
    bytes[at + 1] = length;
    return at + 2;
  }
  if (length <= 0xffff) {
    bytes[at + 1] = 126;
    return bytes.writeUInt16BE(length, at + 2);
  }
  bytes[at + 1] = 127;
  // A text that this process can have is shorter than 2^48 bytes.
  bytes.writeUInt16BE(0, at + 2);
  return bytes.writeUIntBE(length, at + 4, 6);
}
