import { createHash } from "node:crypto";
import type { AuditEntry, AuditHash } from "./store.ts";

/**
 * The audit of one chat is a chain: each hash covers the hash before it, so an entry that was edited, removed, inserted or
 * swapped breaks every hash from there on. Removing entries at the end leaves a shorter chain that is valid; to notice
 * that, keep the last hash somewhere else.
 */

/** The entry that follows `previous`, which is undefined for the first one. */
export function nextAuditEntry(
  previous: AuditEntry | undefined,
  entry: Omit<AuditEntry, "sequence" | "hash">,
): AuditEntry {
  const numbered = { ...entry, sequence: (previous?.sequence ?? 0) + 1 };
  return { ...numbered, hash: hash(previous?.hash ?? "", numbered) };
}

/**
 * The sequence number of the first entry that was changed, removed or inserted; undefined when the chain is valid.
 *
 * Of a deleted chat the store keeps the hashes alone, which prove nothing by themselves. With a copy of the audit from
 * before the deletion, pass them as `kept`: then removed entries at its end are found too.
 */
export function verifyAudit(entries: readonly AuditEntry[], kept?: readonly AuditHash[]): number | undefined {
  let previous = "";
  for (const [index, entry] of entries.entries()) {
    if (entry.sequence !== index + 1 || entry.hash !== hash(previous, entry)) return index + 1;
    if (kept && kept[index]?.hash !== entry.hash) return index + 1;
    previous = entry.hash;
  }
  return kept && kept.length > entries.length ? entries.length + 1 : undefined;
}

/** Flat entries with their keys in alphabetical order are canonical JSON (RFC 8785) without further work. */
function hash(previous: string, { approvalId, at, by, digest, event, sequence, state }: Omit<AuditEntry, "hash">) {
  return createHash("sha256")
    .update(previous)
    .update(JSON.stringify({ approvalId, at, by, digest, event, sequence, state }))
    .digest("hex");
}
