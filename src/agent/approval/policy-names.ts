import type { Listing } from "../adk/toolsets.ts";

/** How many names a sentence lists. A toolset may have thousands. */
const maxNames = 40;
/** A remote toolset chooses its names, so only readable ones are put into a sentence. */
const isReadable = /^[\w.:-]{1,64}$/;

/** A sentence about names in `tools` that no tool has, for the person who wrote them. */
export function explainUnknownNames(names: readonly string[], listing: Listing): string {
  const known = [...listing.names].filter((name) => isReadable.test(name)).toSorted();
  const more = known.length - maxNames;
  const list = known.slice(0, maxNames).join(", ") + (more > 0 ? ` and ${more} more` : "");
  return `No agent has a tool named ${names.join(", ")}.${names.map((name) => hint(name, listing)).join("")} There are: ${list}.`;
}

function hint(name: string, { listed, names }: Listing): string {
  for (const { agent, prefix, names: brought } of listed) {
    const full = `${prefix}_${name}`;
    if (prefix && brought.has(full)) return ` A toolset of ${agent} adds the prefix ${prefix}; write ${full}.`;
  }
  const alike = [...names].find((candidate) => isReadable.test(candidate) && isAlike(name, candidate));
  return alike === undefined ? "" : ` For ${name}, did you mean ${alike}?`;
}

/** True when one name may have been meant by the other: with or without a prefix, or with up to two wrong letters. */
export function isAlike(one: string, other: string): boolean {
  const [a, b] = [plain(one), plain(other)];
  if (a.endsWith(`_${b}`) || b.endsWith(`_${a}`)) return true;
  return Math.abs(a.length - b.length) <= 2 && distance(a, b) <= Math.min(2, Math.floor(a.length / 3));
}

const plain = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "_");

/** How many letters must be added, removed or replaced to turn one word into the other. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of Array.from(a).entries()) {
    const next = [i + 1];
    for (const [j, other] of Array.from(b).entries())
      next.push(Math.min((row[j] ?? 0) + (letter === other ? 0 : 1), (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    row = next;
  }
  return row.at(-1) ?? 0;
}
