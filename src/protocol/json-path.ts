/** One step into a JSON value: the key of an object or the index of an array. */
export type PathSegment = string | number;

const longestKey = 40;
const longestPath = 200;

/**
 * Names a place inside a JSON value for an error message: `$.to[0]["two words"]`. Keys come from clients and the message
 * goes to a browser and a log, so the path is printable ASCII and short, whatever the keys are.
 */
export function jsonPath(segments: readonly PathSegment[]): string {
  const path = `$${segments.map(segmentText).join("")}`;
  return path.length > longestPath ? `${path.slice(0, longestPath)}...` : path;
}

function segmentText(segment: PathSegment): string {
  if (typeof segment === "number") return `[${segment}]`;
  const key = segment.length > longestKey ? `${segment.slice(0, longestKey)}...` : segment;
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${asciiString(key)}]`;
}

function asciiString(text: string): string {
  return JSON.stringify(text).replaceAll(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
