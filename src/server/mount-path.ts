/**
 * The handler finds its routes below any path, so that it can be mounted where the application likes. Three things can
 * tell the handler where it is mounted; the first that does is used:
 *
 * 1. the framework, which has removed the mount path from the address (Express, Connect);
 * 2. the option `basePath`;
 * 3. the address itself: its last segments are compared with the routes.
 */

/** The longest route has this many segments. */
const maxSegments = 3;

/** Throws a sentence if the option is not a path. */
export function checkBasePath(basePath: unknown): void {
  if (basePath === undefined || (typeof basePath === "string" && /^\/[^?#]*$/.test(basePath))) return;
  throw new Error(`The option basePath must be a path such as "/agent"; ${JSON.stringify(basePath)} is not.`);
}

const mountPaths = new WeakMap<Request, string>();

/** Keeps the path that a framework has removed from the address of a request. */
export function setMountPath(request: Request, mountPath: string): void {
  mountPaths.set(request, mountPath);
}

/**
 * The paths that may be a route, in the order in which to try them. There is only one if the mount path is known. Of the
 * others the longest comes first, because an id in a path may look like a route.
 */
export function routePaths(request: Request, basePath: string | undefined): string[] {
  const { pathname } = new URL(request.url);
  const known = mountPaths.get(request) ?? basePath;
  if (known !== undefined) return belowPath(pathname, known);
  const last = pathname.split("/").slice(1).slice(-maxSegments);
  return last.map((_, index) => `/${last.slice(index).join("/")}`);
}

/** True for the address of the WebSocket. */
export function isSocketPath(pathname: string, basePath: string | undefined): boolean {
  return basePath === undefined ? pathname.endsWith("/live") : belowPath(pathname, basePath).includes("/live");
}

/** The rest of a path after a mount path, as a list; empty if the path is not below it. */
function belowPath(pathname: string, mountPath: string): string[] {
  const base = mountPath.replace(/\/+$/, "");
  return pathname.startsWith(`${base}/`) ? [pathname.slice(base.length)] : [];
}
