/** A page of the site before it gets its frame. */
export interface SitePage {
  /** Its address from the root of the site, such as `design/approval.html`. */
  address: string;
  title: string;
  /** The name of the section of the navigation. */
  section: string;
  /** The content, as HTML. */
  html: string;
  headings: Heading[];
  /** The file that it is made of, from the root of the project; undefined if it is generated. */
  file: string | undefined;
  /** Whether the navigation shows it below the page before it. */
  isNested?: boolean;
}

export interface Heading {
  level: number;
  /** As HTML. */
  html: string;
  anchor: string;
}

/** The address of a page's Markdown file on the site. */
export function addressOf(file: string): string {
  if (file === "README.md") return "index.html";
  return file
    .replace(/^docs\//, "")
    .replace(/^[A-Z]+\.md$/, (name) => name.toLowerCase())
    .replace(/\.md$/, ".html");
}

/** How one page of the site links to another. */
export function linkBetween(from: string, to: string): string {
  const up = from.split("/").length - 1;
  return `${"../".repeat(up)}${to}`;
}
