/** What clients get of a tool's output that is too large to travel: its beginning, its size, and where the whole is. */
export interface LargeOutput {
  /** The first 4 KiB of the output as JSON text. */
  preview: string;
  /** The size of that text in bytes. */
  size: number;
  /** The address of the whole, as JSON, for the chat's owner. */
  url: string;
}

/** True for an output that travels as a preview. */
export function isLargeOutput(value: unknown): value is LargeOutput {
  if (typeof value !== "object" || value === null || Object.keys(value).length !== 3) return false;
  const { preview, size, url } = value as Partial<Record<keyof LargeOutput, unknown>>;
  return (
    typeof preview === "string" && typeof size === "number" && typeof url === "string" && fileIdOf(url) !== undefined
  );
}

/** The address of a stored file. */
export function fileAddress(id: string): string {
  return `/files/${id}`;
}

/** The id in the address of a stored file; undefined for any other address. */
export function fileIdOf(url: string): string | undefined {
  return /^\/files\/([0-9a-f]{32})$/.exec(url)?.[1];
}
