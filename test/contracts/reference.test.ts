/** The reference on the site: every exported name of every public entry, with a comment that says something. */
import { describe, expect, it } from "vitest";
import { entryIntros, readSite } from "../../scripts/docs/build-site.ts";
import { textOf } from "../../scripts/docs/escape-html.ts";
import { layout } from "../../scripts/docs/layout.ts";
import type { Description } from "../../scripts/docs/reference/describe.ts";
import { splitDefault } from "../../scripts/docs/reference/reference-page.ts";
import { searchIndex } from "../../scripts/docs/search-index.ts";
import { readProjectFile, root } from "../fixtures/documents.ts";

const site = readSite(root);

/** A comment of three words can say something; a shorter one repeats the name. */
const saysSomething = (comment: string | undefined) => (comment ?? "").split(/\s+/).length >= 3;

/** Interfaces that people fill in. */
const isOptions = ({ name, kind }: Description) => kind === "interface" && /(?:Options|Limits|Policy)$/.test(name);

describe.each(site.entries)("the reference of $name", ({ name, slug, exported }) => {
  const page = site.pages.find(({ address }) => address === `reference/${slug}.html`);

  it("has a comment for every name", () => {
    const missing = exported.filter(({ comment }) => !saysSomething(comment));
    expect(missing.map((one) => `${one.name} in ${one.source}`)).toEqual([]);
  });

  it("shows every name with its signature and its comment", () => {
    const text = textOf(page?.html ?? "");
    for (const { name: exportName, comment = "" } of exported) {
      expect(page?.html.includes(`id="${exportName}"`), exportName).toBe(true);
      const [firstWords = ""] = comment.split(/[`\n*[<]/);
      expect(text.includes(firstWords.trim()), `${exportName}: ${firstWords}`).toBe(true);
    }
  });

  it("has a comment for every option, and the default of those that may be left out", () => {
    for (const { name: optionsName, members } of exported.filter(isOptions))
      for (const { name: option, comment, isOptional } of members) {
        expect(saysSomething(comment), `${optionsName}.${option}: "${comment ?? ""}"`).toBe(true);
        if (isOptional && !optionsName.endsWith("Policy"))
          expect(splitDefault(comment ?? "")[1], `${optionsName}.${option}: "${comment ?? ""}"`).toBeDefined();
      }
  });

  it("is introduced in docs/reference.md", () => {
    expect([...entryIntros(readProjectFile("docs/reference.md")).keys()]).toContain(name);
  });
});

describe("the site", () => {
  const pages = site.pages.map((page) => ({ page, html: layout(site, page) }));

  it("links only to pages and headings that it has", () => {
    const anchors = new Map(
      pages.map(({ page, html }) => [
        page.address,
        new Set([...html.matchAll(/\bid="([^"]+)"/g)].map(([, id = ""]) => id)),
      ]),
    );
    for (const { page, html } of pages)
      for (const [, href = ""] of html.matchAll(/<a [^>]*href="(?!https?:|mailto:)([^"]*)"/g)) {
        const { pathname, hash } = new URL(href, `http://site/${page.address}`);
        const target = pathname.slice(1) || "index.html";
        expect([...anchors.keys()], `${page.address} links to ${href}`).toContain(target);
        if (hash !== "")
          expect(anchors.get(target), `${page.address} links to ${href}`).toContain(decodeURIComponent(hash.slice(1)));
      }
  });

  it("loads nothing from another origin", () => {
    for (const { page, html } of pages) {
      const loaded = [...html.matchAll(/<(?:script|img|link|iframe|source)\b[^>]*(?:src|href)="([^"]*)"/g)];
      expect(loaded.length).toBeGreaterThan(3);
      for (const [, address = ""] of loaded) expect(address, page.address).not.toMatch(/^(?:[a-z]+:)?\/\//);
      expect(/<script>|<\w[^>]*\son\w+=/.exec(html)?.[0], page.address).toBeUndefined();
    }
  });

  it("has every section in its search", () => {
    const rows = searchIndex(site.pages);
    expect(new Set(rows.map(([address]) => address)).size).toBe(rows.length);
    expect(rows.find(([address]) => address === "reference/main.html#createBridge")?.[3]).toContain("BridgeOptions");
    expect(rows.find(([, page, heading]) => page === "Tools" && heading === "A policy by name")).toBeDefined();
  });

  it("takes the default out of a comment, also one with dots", () => {
    expect(splitDefault("The address. Default 127.0.0.1.")).toEqual(["The address.", "127.0.0.1"]);
    expect(splitDefault("How long it\nmay take. Default 5\nseconds. Then it ends.")).toEqual([
      "How long it may take. Then it ends.",
      "5 seconds",
    ]);
    expect(splitDefault("Not the default.")).toEqual(["Not the default.", undefined]);
  });
});
