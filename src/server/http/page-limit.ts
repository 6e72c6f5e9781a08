import { BridgeError } from "../../protocol/index.ts";

const maxLimit = 1000;

/** How many items a request asks for with `?limit=`. */
export function limitOf(searchParams: URLSearchParams): number | undefined {
  const limit = searchParams.get("limit");
  if (limit === null) return undefined;
  if (!/^[1-9]\d{0,3}$/.test(limit) || Number(limit) > maxLimit)
    throw new BridgeError(
      "invalid",
      `limit must be a whole number from 1 to ${maxLimit}; ${JSON.stringify(limit)} is not.`,
    );
  return Number(limit);
}

/** The page of a list that a request asks for with `?limit=` and `?cursor=`. */
export function pageOf(searchParams: URLSearchParams): { limit: number | undefined; cursor: string | undefined } {
  return { limit: limitOf(searchParams), cursor: searchParams.get("cursor") ?? undefined };
}
