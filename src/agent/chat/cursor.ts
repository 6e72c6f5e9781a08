import { BridgeError } from "../../protocol/index.ts";

/** A place in a list as clients get it. What is in it may change, so they only send it back. */
export function encodeCursor(place: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(place)).toString("base64url");
}

/** The values of a cursor, which must be of these types. Throws for anything else. */
export function decodeCursor(cursor: string, types: readonly ("string" | "number")[]): (string | number)[] {
  const place = parse(cursor);
  const isPlace =
    Array.isArray(place) &&
    place.length === types.length &&
    place.every((value, index) => typeof value === types[index] && (typeof value === "string" || isSafe(value)));
  if (!isPlace) throw new BridgeError("invalid", "cursor must be the one of an earlier page, unchanged.");
  return place as (string | number)[];
}

const isSafe = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0;

function parse(cursor: string): unknown {
  if (cursor.length > 1000) return undefined;
  try {
    return JSON.parse(Buffer.from(cursor, "base64url").toString());
  } catch {
    return undefined;
  }
}
