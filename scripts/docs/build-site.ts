import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { dirname, join } from "node:path";
import { type Site, layout } from "./layout.ts";
import { type MarkdownContext, markdownPage, pictureAddress } from "./markdown-page.ts";
import { readNavigation } from "./navigation.ts";
import { type Entry, readEntries } from "./reference/read-entries.ts";
import { referenceAddresses, referencePage } from "./reference/reference-page.ts";
import { searchIndex } from "./search-index.ts";
import type { SitePage } from "./site-page.ts";

interface Manifest {
  name: string;
  version: string;
  repository?: string | { url: string };
}

/** Makes the pages of the site, without writing them. The package must be built: the reference reads `dist`. */
export function readSite(root: string): Site & { pictures: ReadonlySet<string>; entries: Entry[] } {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;
  const sections = readNavigation(root);
  const entries = readEntries(root);
  const addresses = referenceAddresses(entries);
  const pictures = new Set<string>();
  const repository = repositoryOf(manifest);
  const context: MarkdownContext = {
    root,
    files: new Set(sections.flatMap(({ files }) => files)),
    repository,
    findReference: (name) => addresses.get(name),
    addPicture: (file) => pictures.add(file),
  };
  const pages = sections.flatMap(({ title, files }) => files.map((file) => markdownPage(context, file, title)));
  const place = pages.findIndex(({ file }) => file === "docs/reference.md");
  const intros = entryIntros(readFileSync(join(root, "docs/reference.md"), "utf8"));
  const reference = entries.map((entry) => referencePage(context, entry, intros.get(entry.name) ?? ""));
  pages.splice(place + 1, 0, ...reference);
  return { name: manifest.name, version: manifest.version, repository, pages, pictures, entries };
}

/** Writes the site to a folder, which is emptied first. Returns its pages. */
export function buildSite(root: string, folder: string): readonly SitePage[] {
  const site = readSite(root);
  rmSync(folder, { recursive: true, force: true });
  const write = (address: string, text: string) => {
    mkdirSync(dirname(join(folder, address)), { recursive: true });
    writeFileSync(join(folder, address), text);
  };
  for (const page of site.pages) write(page.address, layout(site, page));
  write("assets/search-rows.js", `globalThis.searchRows = ${JSON.stringify(searchIndex(site.pages))};\n`);
  for (const name of globSync("*", { cwd: assets })) writeAsset(name, write);
  for (const file of site.pictures) copyFileSync(join(root, file), join(folder, pictureAddress(file)));
  return site.pages;
}

const assets = join(import.meta.dirname, "assets");

/** Scripts become plain ones without imports, because a browser loads modules from a server only. */
function writeAsset(name: string, write: (address: string, text: string) => void): void {
  const text = readFileSync(join(assets, name), "utf8");
  if (!name.endsWith(".ts")) write(`assets/${name}`, text);
  else write(`assets/${name.replace(/ts$/, "js")}`, `(() => {\n"use strict";\n${stripTypeScriptTypes(text)}})();\n`);
}

/** What docs/reference.md says about each entry, in its table. */
export function entryIntros(document: string): Map<string, string> {
  const rows = [...document.matchAll(/^\| `(adk-stream-protocol[^`]*)` *\| (.*?) *\|$/gm)];
  return new Map(rows.map(([, name = "", intro = ""]) => [name, intro]));
}

function repositoryOf({ repository }: Manifest): string | undefined {
  const url = typeof repository === "string" ? repository : repository?.url;
  return url?.replace(/^git\+/, "").replace(/\.git$/, "");
}
