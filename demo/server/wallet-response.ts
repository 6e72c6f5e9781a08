import { DatabaseAway } from "./demo-database.ts";
import type { Wallet } from "./wallet.ts";

const headers = { "cache-control": "no-store" };

/** `GET /wallet` and `POST /wallet/reset`. Undefined for other paths. */
export async function walletResponse(
  request: Request,
  wallet: Pick<Wallet, "read" | "reset">,
): Promise<Response | undefined> {
  const { pathname } = new URL(request.url);
  const method = { "/wallet": "GET", "/wallet/reset": "POST" }[pathname];
  if (method === undefined) return undefined;
  if (request.method !== method) return new Response(null, { status: 405, headers: { allow: method } });
  try {
    if (method === "POST") await wallet.reset();
    return Response.json(await wallet.read(), { headers });
  } catch (error) {
    if (!(error instanceof DatabaseAway)) throw error;
    const body = { code: "unavailable", message: "The wallet cannot be reached. Try again in a moment." };
    return Response.json(body, { status: 503, headers: { ...headers, "retry-after": "1" } });
  }
}
