/** The oldest Node that the server's parts run on. package.json has the same in `engines`. */
export const oldestNode = "22.13";

/** The versions of a process. Bun and Deno name themselves, and name an old Node that they are compatible with. */
type Versions = Readonly<Record<string, string | undefined>>;

/** Throws a sentence if this Node is too old for a part of the package. */
export function requireNode(part: string, versions: Versions): void {
  const { node } = versions;
  if (node === undefined || versions["bun"] !== undefined || versions["deno"] !== undefined) return;
  if (isOlder(node, oldestNode)) throw new Error(`${part} needs Node ${oldestNode} or newer; this is Node ${node}.`);
}

function isOlder(version: string, than: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [wantedMajor = 0, wantedMinor = 0] = than.split(".").map(Number);
  return major < wantedMajor || (major === wantedMajor && minor < wantedMinor);
}
