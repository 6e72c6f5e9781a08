/** How the page talks to the server: a request per message, or one WebSocket for everything. */
export const modes = ["sse", "bidi"] as const;
export type Mode = (typeof modes)[number];

/** The mode an address names, if any. */
export function modeOf(href: string): Mode | undefined {
  return toMode(new URL(href).searchParams.get("mode"));
}

/** The same address with another mode in it. */
export function withMode(href: string, mode: Mode): string {
  const url = new URL(href);
  url.searchParams.set("mode", mode);
  return url.href;
}

/** The mode with this name; undefined if there is none. Addresses and storage can hold any text. */
export function toMode(word: string | null): Mode | undefined {
  return modes.find((mode) => mode === word?.toLowerCase());
}
