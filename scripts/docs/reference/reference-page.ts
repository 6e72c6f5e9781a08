import { escapeHtml } from "../escape-html.ts";
import { highlight } from "../highlight.ts";
import { type MarkdownContext, markdownToHtml } from "../markdown-page.ts";
import { type Heading, linkBetween, type SitePage } from "../site-page.ts";
import type { Description, Kind, Member } from "./describe.ts";
import type { Entry } from "./read-entries.ts";

const groups: [kind: Kind, title: string][] = [
  ["function", "Functions"],
  ["class", "Classes"],
  ["interface", "Interfaces"],
  ["type", "Types"],
  ["value", "Values"],
];

/** The addresses of all names, by name and by entry. The first entry that exports a name has its address. */
export function referenceAddresses(entries: readonly Entry[]): Map<string, string> {
  const addresses = new Map<string, string>();
  const add = (name: string, address: string) => {
    if (!addresses.has(name)) addresses.set(name, address);
  };
  for (const entry of entries) add(entry.name, pageAddress(entry));
  for (const entry of entries) for (const { name } of entry.exported) add(name, `${pageAddress(entry)}#${name}`);
  for (const entry of entries) for (const { name } of entry.used) add(name, `${pageAddress(entry)}#${name}`);
  return addresses;
}

function pageAddress(entry: Entry): string {
  return `reference/${entry.slug}.html`;
}

/** The page of one entry: every exported name, then the types that they use. */
export function referencePage(context: MarkdownContext, entry: Entry, intro: string): SitePage {
  const address = pageAddress(entry);
  const headings: Heading[] = [{ level: 1, html: escapeHtml(entry.name), anchor: "top" }];
  const own = new Set([...entry.exported, ...entry.used].map(({ name }) => name));
  const page = new PageWriter(context, address, own);
  page.add(`<h1 id="top"><code>${escapeHtml(entry.name)}</code></h1>`);
  page.add(page.markdown(intro, "docs/reference.md"));
  page.add(page.code(importLine(entry)));
  for (const [kind, title] of groups) {
    const members = entry.exported.filter((description) => description.kind === kind);
    addGroup(page, headings, title, members);
  }
  if (entry.used.length > 0) {
    addGroup(page, headings, "Used types", entry.used, "These types are named above and are not exported themselves.");
  }
  return {
    address,
    title: entry.name,
    section: "Reference",
    html: page.html,
    headings,
    file: undefined,
    isNested: true,
  };
}

function importLine({ name, exported }: Entry): string {
  const shown = exported.filter(({ kind }) => kind === "function" || kind === "class").slice(0, 3);
  const names = (shown.length > 0 ? shown : exported.slice(0, 3)).map((one) => one.name);
  const isType = shown.length === 0 && exported.every(({ kind }) => kind === "interface" || kind === "type");
  return `import ${isType ? "type " : ""}{ ${names.join(", ")} } from "${name}";`;
}

function addGroup(page: PageWriter, headings: Heading[], title: string, all: readonly Description[], note = ""): void {
  if (all.length === 0) return;
  const anchor = title.toLowerCase().replaceAll(" ", "-");
  headings.push({ level: 2, html: title, anchor });
  page.add(`<h2 id="${anchor}">${title}</h2>${note && `<p>${note}</p>`}`);
  page.add(`<p class="names">${all.map(({ name }) => `<a href="#${name}">${name}</a>`).join(" ")}</p>`);
  for (const description of all) {
    headings.push({ level: 3, html: description.name, anchor: description.name });
    page.addDescription(description);
  }
}

class PageWriter {
  html = "";
  readonly #context: MarkdownContext;
  readonly #address: string;
  readonly #own: ReadonlySet<string>;

  constructor(context: MarkdownContext, address: string, own: ReadonlySet<string>) {
    this.#context = context;
    this.#address = address;
    this.#own = own;
  }

  add(html: string): void {
    this.html += `${html}\n`;
  }

  /** Code whose names lead to their reference, on this page if they are here. */
  code(code: string, except?: string): string {
    return `<pre class="code" tabindex="0"><code>${highlight(code, "ts", (name) => this.#find(name, except))}</code></pre>`;
  }

  #find(name: string, except: string | undefined): string | undefined {
    // Names of functions are the names of parameters too (`text`, `call`), and signatures do not call functions.
    if (name === except || !/^[A-Z]/.test(name)) return undefined;
    if (this.#own.has(name)) return `#${name}`;
    const address = this.#context.findReference(name);
    return address === undefined ? undefined : linkBetween(this.#address, address);
  }

  /** Relative links start from a file; those of comments from the root of the project. */
  markdown(text: string, file = "README.md"): string {
    return markdownToHtml(this.#context, { text, file, address: this.#address });
  }

  addDescription({ name, kind, signature, comment, members, source }: Description): void {
    this.add(`<section class="declaration"><h3 id="${name}">${name} <span class="kind">${kind}</span></h3>`);
    this.add(this.code(signature, name));
    if (comment !== undefined) this.add(this.markdown(comment));
    if (members.length > 0)
      this.add(`<dl class="members">${members.map((one) => this.#member(name, one)).join("")}</dl>`);
    const { repository } = this.#context;
    const place = `<code>${source}</code>`;
    this.add(
      `<p class="source">${repository ? `<a href="${repository}/blob/HEAD/${source}">${place}</a>` : place}</p>`,
    );
    this.add("</section>");
  }

  #member(owner: string, { name, signature, comment, isOptional, from }: Member): string {
    const [text, standard] = splitDefault(comment ?? "");
    const facts = [
      ...(isOptional ? ["optional"] : []),
      ...(standard === undefined ? [] : [`default: ${inline(standard)}`]),
      ...(from === undefined ? [] : [`from <code>${from}</code>`]),
    ];
    const id = `${owner}.${name}`;
    const note = facts.length > 0 ? `<p class="facts">${facts.join(" · ")}</p>` : "";
    const code = highlight(signature, "ts", (one) => this.#find(one, undefined));
    return `<dt id="${id}"><pre tabindex="0"><code>${code}</code></pre></dt><dd>${note}${this.markdown(text)}</dd>`;
  }
}

/** Takes the sentence about the default out of a comment. */
export function splitDefault(comment: string): [text: string, standard: string | undefined] {
  const joined = comment.replaceAll(/(?<!\n)\n(?![\n\s|*-])/g, " ");
  const match = /(?<=^|[.!?)]\s)Default:? ((?:`[^`]*`|[^.`]|\.(?=\S))+)\.(?=\s|$)/.exec(joined);
  if (!match) return [joined, undefined];
  const rest = `${joined.slice(0, match.index).trimEnd()}${joined.slice(match.index + match[0].length)}`;
  return [rest.trim(), match[1]];
}

/** Code in a short text. */
function inline(text: string): string {
  return escapeHtml(text).replaceAll(/`([^`]+)`/g, "<code>$1</code>");
}
