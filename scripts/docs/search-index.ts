import { textOf } from "./escape-html.ts";
import type { SitePage } from "./site-page.ts";

/** One section of a page: its place, the page's title, its own heading, and its text. */
export type SearchRow = [address: string, page: string, heading: string, text: string];

/** Longer sections are found by their first words only. */
const maxText = 4000;

/** What the search box looks through. The page loads it as a script, which also works without a server. */
export function searchIndex(pages: readonly SitePage[]): SearchRow[] {
  return pages.flatMap((page) => {
    const pieces = page.html.split(/(?=<h[1-3] id=")/);
    return pieces.flatMap((piece): SearchRow[] => {
      const heading = /^<h[1-3] id="([^"]*)">([\s\S]*?)<\/h[1-3]>/.exec(piece);
      const shown = /<a class="anchor"[\s\S]*?<\/a>|<span class="kind">[\s\S]*?<\/span>/g;
      const title = textOf((heading?.[2] ?? "").replaceAll(shown, ""));
      const text = textOf(piece.slice(heading?.[0].length ?? 0)).slice(0, maxText);
      if (title === "" && text === "") return [];
      const address = heading?.[1] ? `${page.address}#${heading[1]}` : page.address;
      return [[address, page.title, title === page.title ? "" : title, text]];
    });
  });
}
