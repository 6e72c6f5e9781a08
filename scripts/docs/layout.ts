import { escapeHtml } from "./escape-html.ts";
import { linkBetween, type SitePage } from "./site-page.ts";

export interface Site {
  name: string;
  version: string;
  repository: string | undefined;
  pages: readonly SitePage[];
}

/** The whole HTML of a page: header, navigation, content, and the headings beside it. */
export function layout(site: Site, page: SitePage): string {
  const at = site.pages.indexOf(page);
  const [before, after] = [site.pages[at - 1], site.pages[at + 1]];
  const to = (address: string) => linkBetween(page.address, address);
  const isHome = page.address === "index.html";
  const title = isHome ? site.name : `${page.title} · ${site.name}`;
  return `<!doctype html>
<html lang="en" data-root="${to("")}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="${to("assets/favicon.svg")}">
<link rel="stylesheet" href="${to("assets/site.css")}">
<script src="${to("assets/theme.js")}"></script>
<script src="${to("assets/controls.js")}" defer></script>
<script src="${to("assets/search-box.js")}" defer></script>
</head>
<body${isHome ? ' class="home"' : ""}>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="brand" href="${to("index.html")}"><img src="${to("assets/favicon.svg")}" alt="" width="22" height="22">${escapeHtml(site.name)}</a>
<span class="version">${escapeHtml(site.version)}</span>
<div class="search" hidden>
<input type="search" placeholder="Search" aria-label="Search the documentation" autocomplete="off" role="combobox" aria-expanded="false" aria-controls="results" aria-autocomplete="list">
<kbd aria-hidden="true">/</kbd>
<ul id="results" role="listbox" aria-label="Results" hidden></ul>
</div>
<button type="button" class="theme" hidden aria-label="Change between light and dark"></button>
${site.repository ? `<a class="repository" href="${escapeHtml(site.repository)}">Source</a>` : ""}
</header>
<div class="columns">
<nav class="pages" aria-label="Pages"><details open><summary>Contents</summary>${navigation(site, page)}</details></nav>
<main id="content">
<article>
${page.html}</article>
<footer>${neighbour("previous", before, to)}${neighbour("next", after, to)}</footer>
</main>
${outline(page)}
</div>
</body>
</html>
`;
}

function navigation(site: Site, page: SitePage): string {
  const sections = [...new Set(site.pages.map(({ section }) => section))];
  return sections
    .map((section) => {
      const isOpen = section === page.section || !["Decisions", "Design"].includes(section);
      const links = site.pages.filter((one) => one.section === section).map((one) => navigationLink(one, page));
      return `<details${isOpen ? " open" : ""}><summary>${escapeHtml(section)}</summary><ul>${links.join("")}</ul></details>`;
    })
    .join("\n");
}

function navigationLink(one: SitePage, page: SitePage): string {
  const title = one.address === "index.html" ? "Overview" : one.title;
  const short = one.isNested ? title.replace(/^[^/]+(?=\/)/, "…") : title;
  const current = one === page ? ' aria-current="page"' : "";
  const nested = one.isNested ? ' class="nested"' : "";
  return `<li${nested}><a href="${linkBetween(page.address, one.address)}"${current}>${escapeHtml(short)}</a></li>`;
}

function outline({ headings }: SitePage): string {
  const shown = headings.filter(({ level }) => level === 2 || level === 3);
  if (shown.length < 2) return "";
  const links = shown.map(
    ({ level, anchor, html }) => `<li class="level-${level}"><a href="#${anchor}">${html}</a></li>`,
  );
  return `<nav class="outline" aria-label="On this page"><p>On this page</p><ul>${links.join("")}</ul></nav>`;
}

function neighbour(kind: "previous" | "next", page: SitePage | undefined, to: (address: string) => string): string {
  if (!page) return "<span></span>";
  const label = kind === "previous" ? "Previous" : "Next";
  return `<a class="${kind}" rel="${kind === "previous" ? "prev" : "next"}" href="${to(page.address)}"><small>${label}</small>${escapeHtml(page.title)}</a>`;
}
