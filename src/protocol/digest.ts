import { canonicalJson, defaultJsonLimits, type JsonLimits } from "./canonical-json.ts";

/**
 * SHA-256 of the canonical JSON, in lower-case hex: the same in a browser and on the server. Browsers have the hash
 * function on https and on localhost only.
 */
export async function digest(value: unknown, limits?: Partial<JsonLimits>): Promise<string> {
  const bytes = new TextEncoder().encode(canonicalJson(value, limits));
  const hash = await globalThis.crypto.subtle.digest("SHA-256", bytes);
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Everything an approval is bound to: an answer to one action must not count for another. */
export interface Action {
  approvalId: string;
  owner: string;
  chat: string;
  toolCallId: string;
  toolName: string;
  input: unknown;
}

/** Larger than the limits of the input, so that the ids around it do not count against them. */
const actionLimits: JsonLimits = {
  maxBytes: 2 * defaultJsonLimits.maxBytes,
  maxDepth: defaultJsonLimits.maxDepth + 1,
  maxKeys: defaultJsonLimits.maxKeys + 7,
};

/**
 * Binds an approval to one call of one tool with one input, for one owner in one chat. `v` is the version of the list of
 * fields: a digest over another list can never equal one of these.
 */
export async function actionDigest(action: Action): Promise<string> {
  const { approvalId, owner, chat, toolCallId, toolName, input } = action;
  canonicalJson(input);
  return digest({ v: 1, approvalId, owner, chat, toolCallId, toolName, input }, actionLimits);
}
