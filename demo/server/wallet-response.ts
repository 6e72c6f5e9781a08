import type { Wallet } from "./wallet.ts";

const headers = { "cache-control": "no-store" };

/** `GET /wallet` and `POST /wallet/reset`. Undefined for other paths. */
export function walletResponse(request: Request, wallet: Pick<Wallet, "read" | "reset">): Response | undefined {
  const { pathname } = new URL(request.url);
  const method = { "/wallet": "GET", "/wallet/reset": "POST" }[pathname];
  if (method === undefined) return undefined;
  if (request.method !== method) return new Response(null, { status: 405, headers: { allow: method } });
  if (method === "POST") wallet.reset();
  return Response.json(wallet.read(), { headers });
}
