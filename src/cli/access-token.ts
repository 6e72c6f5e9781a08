import { randomBytes, timingSafeEqual } from "node:crypto";

/**
 * Lets people in who know a secret address. A development server that other machines can reach needs this, because anyone
 * who reaches it could approve calls otherwise. The page's address has the token; the reply to it sets a cookie.
 */
export interface AccessToken {
  /** The address to open, with the token. */
  addTo(url: string): string;
  authenticate(request: Request): string | undefined;
  /** The reply to the address with the token: it sets the cookie and leaves the token out of the address. */
  respond(request: Request): Response | undefined;
}

const cookieName = "adk-stream-protocol";

export function createAccessToken(token: string = randomBytes(18).toString("base64url")): AccessToken {
  const right = Buffer.from(token);
  const isRight = (given: string | null | undefined) => {
    const bytes = Buffer.from(given ?? "");
    return bytes.length === right.length && timingSafeEqual(bytes, right);
  };
  return {
    addTo(url) {
      const address = new URL(url);
      address.searchParams.set("token", token);
      return address.href;
    },
    authenticate(request) {
      const { searchParams } = new URL(request.url);
      return isRight(searchParams.get("token")) || isRight(readCookie(request)) ? "local" : undefined;
    },
    respond(request) {
      const url = new URL(request.url);
      if (request.method !== "GET" || !isRight(url.searchParams.get("token"))) return undefined;
      url.searchParams.delete("token");
      const cookie = `${cookieName}=${token}; Path=/; HttpOnly; SameSite=Strict`;
      return new Response(null, {
        status: 303,
        // A path with two slashes at its start would be the address of another host.
        headers: {
          location: url.pathname.replace(/^\/+/, "/") + url.search,
          "set-cookie": cookie,
          "cache-control": "no-store",
        },
      });
    },
  };
}

function readCookie(request: Request): string | undefined {
  const cookies = (request.headers.get("cookie") ?? "").split(";").map((cookie) => cookie.trim());
  return cookies.find((cookie) => cookie.startsWith(`${cookieName}=`))?.slice(cookieName.length + 1);
}
