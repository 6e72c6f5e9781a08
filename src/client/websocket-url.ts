/**
 * The address of the server's `/live`: `http:` becomes `ws:`, a path is resolved against the page's own address, and
 * `?sequence=1` asks for the numbers that are needed to resume.
 */
export function websocketUrl(given: string | URL, page?: string): string {
  const url = new URL(given, page);
  if (url.protocol === "http:") url.protocol = "ws:";
  if (url.protocol === "https:") url.protocol = "wss:";
  url.searchParams.set("sequence", "1");
  url.hash = "";
  return url.href;
}
