import { readFile } from "node:fs/promises";
import { createServer, type Server, type ServerResponse } from "node:http";
import { extname, join, normalize } from "node:path";

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
};

/** Everything that the site needs comes from the site itself. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'";

/** Serves the files of a folder to this machine. */
export function serveSite(folder: string, port: number): Promise<Server> {
  const server = createServer((request, response) => void send(folder, request.url ?? "/", response));
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => resolve(server));
  });
}

async function send(folder: string, url: string, response: ServerResponse): Promise<void> {
  const path = pathOf(url);
  const body = path === undefined ? undefined : await readFile(join(folder, path)).catch(() => undefined);
  if (path === undefined || body === undefined) {
    response.writeHead(404, { "content-type": "text/plain" }).end("There is no such page.\n");
    return;
  }
  const type = types[extname(path)] ?? "application/octet-stream";
  response.writeHead(200, { "content-type": type, "content-security-policy": policy, "cache-control": "no-cache" });
  response.end(body);
}

/** The file that an address means, below the folder; undefined for anything else. */
function pathOf(url: string): string | undefined {
  try {
    const path = normalize(decodeURIComponent(new URL(url, "http://site").pathname));
    return path.includes("\0") ? undefined : path.endsWith("/") ? `${path}index.html` : path;
  } catch {
    return undefined;
  }
}
