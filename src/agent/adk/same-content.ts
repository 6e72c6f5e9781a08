import type { Content } from "@google/genai";

/**
 * A content of the history, which is plain JSON. Every request copies and compares it. Most contents are one text, which is
 * kept here beside the content: the objects of a long history are not in the processor's cache, and looking at each of them
 * takes most of the time.
 */
export interface KnownContent {
  content: Content;
  /** The role and the text of a content that is one text and nothing else. */
  role?: string | undefined;
  text?: string | undefined;
}

export function knownContent(content: Content): KnownContent {
  const { role, parts } = content;
  const text = parts?.[0]?.text;
  return text !== undefined && isOneText(content, role, text) ? { content, role, text } : { content };
}

/** A copy of its own, which a callback may change. */
export function copyContent({ content, role, text }: KnownContent): Content {
  if (text === undefined) return copy(content);
  return role === undefined ? { parts: [{ text }] } : { role, parts: [{ text }] };
}

/** True when a content has the same values: it means the same in a request. */
export function isSameContent(content: Content | undefined, { content: known, role, text }: KnownContent): boolean {
  if (content !== undefined && text !== undefined && isOneText(content, role, text)) return true;
  return isSame(content, known);
}

/** True for a content with this role and this text, and nothing else. */
function isOneText(content: Content, role: string | undefined, text: string): boolean {
  const { parts } = content;
  if (content.role !== role || !isPlain(content) || !Array.isArray(parts) || parts.length !== 1) return false;
  for (const name in content) if (name !== "role" && name !== "parts") return false;
  const [part] = parts;
  if (part?.text !== text || !isPlain(part)) return false;
  for (const name in part) if (name !== "text") return false;
  return true;
}

function isPlain(value: object): boolean {
  return Object.getPrototypeOf(value) === Object.prototype;
}

/** Spreading and then replacing what is inside is several times faster than adding one field after the other. */
function copy<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copy) as T;
  const copied = { ...value };
  for (const name in copied) if (typeof copied[name] === "object") copied[name] = copy(copied[name]);
  return copied;
}

function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  for (const name in a) if (!isSame(field(a, name), field(b, name))) return false;
  for (const name in b) if (!Object.hasOwn(a, name)) return false;
  return true;
}

function field(value: object, name: string): unknown {
  return (value as Record<string, unknown>)[name];
}
