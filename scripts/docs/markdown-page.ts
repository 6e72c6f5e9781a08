import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { Marked } from "marked";
import { escapeHtml, textOf } from "./escape-html.ts";
import { type FindReference, highlight } from "./highlight.ts";
import { addressOf, type Heading, linkBetween, type SitePage } from "./site-page.ts";
import { createSlugs } from "./slugs.ts";

export interface MarkdownContext {
  root: string;
  /** The Markdown files that are pages of the site. */
  files: ReadonlySet<string>;
  /** Where files that are no pages can be read, if the project has a public repository. */
  repository: string | undefined;
  /** The reference of a name, as an address from the root of the site. */
  findReference: FindReference;
  /** Called with a picture that the site needs. */
  addPicture: (file: string) => void;
}

/** Makes a page of a Markdown file. */
export function markdownPage(context: MarkdownContext, file: string, section: string): SitePage {
  const address = addressOf(file);
  const headings: Heading[] = [];
  const text = readFileSync(join(context.root, file), "utf8");
  const html = markdownToHtml(context, { text, file, address, headings });
  const title = textOf(headings.find(({ level }) => level === 1)?.html ?? file);
  return { address, title, section, html, headings, file };
}

interface Source {
  text: string;
  /** The file that relative links start from. */
  file: string;
  address: string;
  headings?: Heading[];
}

/** Turns Markdown into HTML. Links to other pages lead to their place on the site. */
export function markdownToHtml(context: MarkdownContext, { text, file, address, headings = [] }: Source): string {
  const slugOf = createSlugs();
  const find: FindReference = (name) => {
    const found = context.findReference(name);
    return found === undefined ? undefined : linkBetween(address, found);
  };
  /** A link in a link is not valid HTML, and a heading that is a link is hard to read. */
  const withoutLinks = (html: string) => html.replaceAll(/<\/?a\b[^>]*>/g, "");
  const marked = new Marked({
    renderer: {
      heading(html, level, raw) {
        const anchor = slugOf(textOf(raw));
        const plain = withoutLinks(html);
        headings.push({ level, html: plain, anchor });
        return `<h${level} id="${anchor}">${plain}<a class="anchor" href="#${anchor}" aria-label="Link to this section">#</a></h${level}>\n`;
      },
      code(code, info) {
        const language = info?.split(/\s/)[0] ?? "";
        const colored = highlight(code, language, (name) => (isOurs(code, name) ? find(name) : undefined));
        return `<pre class="code" tabindex="0" data-language="${escapeHtml(language)}"><code>${colored}</code></pre>\n`;
      },
      codespan(html) {
        // Names in a sentence are ordinary words too (`text`, `call`), so only those with a capital letter are linked.
        const name = textOf(html);
        const isName = /[A-Z]/.test(name) || name.startsWith("adk-stream-protocol");
        const reference = isName ? find(name.replace(/\(.*$/, "")) : undefined;
        return reference === undefined ? `<code>${html}</code>` : `<a href="${reference}"><code>${html}</code></a>`;
      },
      table(head, body) {
        // A heading without words is announced as an empty one.
        const named = head.replaceAll("<th></th>", "<td></td>");
        return `<div class="table" tabindex="0"><table><thead>${named}</thead><tbody>${body}</tbody></table></div>\n`;
      },
      link(href, _title, html) {
        const target = resolveLink(context, file, address, href);
        const words = withoutLinks(html).replace(
          /^(?:[\w/-]+\/)?[\w-]+\.md\b/,
          (name) => titleOf(context, file, href) ?? name,
        );
        return target === undefined ? html : `<a href="${escapeHtml(target)}">${words}</a>`;
      },
      image(href, _title, alt) {
        const picture = normalize(join(dirname(file), href));
        context.addPicture(picture);
        const target = linkBetween(address, pictureAddress(picture));
        return `<img src="${escapeHtml(target)}" alt="${escapeHtml(alt)}">`;
      },
    },
  });
  return marked.parse(text) as string;
}

/** The title of the page that a link leads to. On GitHub a link says which file it opens; on the site there are no files. */
function titleOf(context: MarkdownContext, file: string, href: string): string | undefined {
  const target = normalize(join(dirname(file), href.split("#")[0] ?? ""));
  if (!context.files.has(target)) return undefined;
  return /^# (.+)$/m.exec(readFileSync(join(context.root, target), "utf8"))?.[1];
}

/** Whether a name in an example is one of the package: it is imported from there, or it is hardly an ordinary word. */
function isOurs(code: string, name: string): boolean {
  if (new RegExp(`\\b(?:const|let|function|class|type|interface) ${name}\\b`).test(code)) return false;
  const imports = [...code.matchAll(/import [^;]* from "([^"]+)";/g)];
  const [source] = imports.flatMap(([text, from = ""]) => (new RegExp(`\\b${name}\\b`).test(text) ? from : []));
  return source === undefined ? /[A-Z]/.test(name) : source.startsWith("adk-stream-protocol");
}

/** Where a picture is on the site. */
export function pictureAddress(file: string): string {
  return `assets/${file.replace(/^docs\//, "").replaceAll("/", "-")}`;
}

/** Where a link leads on the site; undefined for a file that readers of the site cannot open. */
function resolveLink(context: MarkdownContext, file: string, address: string, href: string): string | undefined {
  if (/^[a-z]+:/.test(href) || href.startsWith("#")) return href;
  const [path = "", anchor] = href.split("#");
  const target = normalize(join(dirname(file), path)).replace(/\/$/, "");
  const suffix = anchor === undefined ? "" : `#${anchor}`;
  if (context.files.has(target)) return linkBetween(address, addressOf(target)) + suffix;
  if (target === "docs/decisions") {
    const [newest] = [...context.files]
      .filter((one) => one.startsWith("docs/decisions/"))
      .toSorted()
      .toReversed();
    return newest === undefined ? undefined : linkBetween(address, addressOf(newest));
  }
  const onDisk = join(context.root, target);
  if (!existsSync(onDisk)) throw new Error(`${file} links to ${target}, which does not exist.`);
  if (context.repository === undefined) return undefined;
  return `${context.repository}/${statSync(onDisk).isDirectory() ? "tree" : "blob"}/HEAD/${target}${suffix}`;
}
