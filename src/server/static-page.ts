import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { chooseEncoding, type Encoding, encodings } from "./choose-encoding.ts";

/** The built pages. They are read once into a map, so that the path of a request never reaches the file system. */
export interface StaticPage {
  respond(request: Request): Response | undefined;
}

const contentTypes: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

const commonHeaders = {
  "content-security-policy": [
    "default-src 'self'",
    // This includes the WebSocket of the page: since CSP 3, 'self' covers ws: and wss: of the same host.
    "connect-src 'self'",
    "img-src 'self' data: blob:",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; "),
  "permissions-policy": "camera=(), geolocation=(self)",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

type Body = Uint8Array<ArrayBuffer>;

/** One file of a page. `compressed` has the forms that the build wrote beside it. */
interface File {
  body: Body;
  compressed: Partial<Record<Encoding, Body>>;
  headers: Record<string, string>;
  /** A hash of the content, for the ETag. */
  hash: string;
}

/**
 * Reads built pages, for the option `fallback` of `listen`. `pages` maps the path for which a page was built, such as "/",
 * to its folder. Every file has headers that forbid frames, foreign sources and guessing of types.
 */
export function loadStaticPage(pages: Record<string, string>): StaticPage {
  const files = new Map<string, File>();
  for (const [base, folder] of Object.entries(pages)) {
    for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
      const contentType = contentTypes[extname(name)];
      if (!contentType) continue;
      const path = name.replaceAll("\\", "/");
      files.set(base + path, readFile(join(folder, name), contentType, cacheControl(path)));
    }
  }
  return {
    respond(request) {
      const url = new URL(request.url);
      const file = files.get(url.pathname) ?? files.get(`${url.pathname.replace(/\/$/, "")}/index.html`);
      if (!file) return undefined;
      if (request.method !== "GET" && request.method !== "HEAD") {
        return new Response(null, { status: 405, headers: { allow: "GET, HEAD" } });
      }
      const encoding = chooseEncoding(request.headers.get("accept-encoding"), file.compressed);
      const etag = `"${file.hash}${encoding === undefined ? "" : `-${encoding}`}"`;
      const headers = { ...file.headers, etag };
      if (hasTag(request.headers.get("if-none-match"), etag)) return new Response(null, { status: 304, headers });
      const body = (encoding === undefined ? undefined : file.compressed[encoding]) ?? file.body;
      return new Response(request.method === "HEAD" ? null : body, {
        headers: {
          ...headers,
          "content-length": String(body.length),
          ...(encoding !== undefined && { "content-encoding": encoding }),
        },
      });
    },
  };
}

function readFile(path: string, contentType: string, caching: string): File {
  const body = new Uint8Array(readFileSync(path));
  const compressed: File["compressed"] = {};
  for (const [encoding, ending] of Object.entries(encodings) as [Encoding, string][])
    if (existsSync(path + ending)) compressed[encoding] = new Uint8Array(readFileSync(path + ending));
  const hash = createHash("sha256").update(body).digest("base64url").slice(0, 22);
  const headers = {
    ...commonHeaders,
    "content-type": contentType,
    "cache-control": caching,
    vary: "accept-encoding",
  };
  return { body, compressed, headers, hash };
}

/** Whether `If-None-Match` names this tag. Caches may add `W/` to a tag. */
function hasTag(header: string | null, etag: string): boolean {
  if (header === null) return false;
  return header.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag || tag.trim() === "*");
}

/** Files under assets/ have a hash of their content in their names, so they never change. */
function cacheControl(path: string): string {
  return path.startsWith("assets/") ? "public, max-age=31536000, immutable" : "no-cache";
}
