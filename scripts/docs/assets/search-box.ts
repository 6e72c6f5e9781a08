// The search. It works without a server: its rows are a script, loaded when the search is used for the first time.
import type { SearchRow } from "../search-index.ts";

const maxResults = 12;
const maxWords = 8;

let rows: Promise<SearchRow[]> | undefined;

function loadRows(): Promise<SearchRow[]> {
  rows ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = toPage("assets/search-rows.js");
    script.addEventListener("load", () => resolve((globalThis as unknown as { searchRows: SearchRow[] }).searchRows));
    script.addEventListener("error", reject);
    document.head.append(script);
  });
  return rows;
}

/** An address of the site, seen from this page. */
function toPage(address: string): string {
  return `${document.documentElement.dataset["root"] ?? ""}${address}`;
}

/** How well a section fits: all words must occur, and those in a heading or a title count more than those in the text. */
function scoreOf([, page, heading, text]: SearchRow, words: readonly string[]): number {
  const [title, own, body] = [page.toLowerCase(), heading.toLowerCase(), text.toLowerCase()];
  const name = own === "" ? title : own;
  let score = 0;
  for (const word of words) {
    if (name === word) score += 100;
    else if (name.startsWith(word)) score += 40;
    else if (name.includes(` ${word}`)) score += 30;
    else if (name.includes(word)) score += 15;
    else if (title.includes(word)) score += 8;
    else if (body.includes(word)) score += 3 + Math.min(4, body.split(word).length - 1);
    else return 0;
  }
  return score;
}

/** The part of a text in which the first of the words occurs. */
function excerpt(text: string, words: readonly string[]): string {
  const lower = text.toLowerCase();
  const places = words.map((word) => lower.indexOf(word)).filter((place) => place >= 0);
  const start = Math.max(0, Math.min(...places, text.length) - 40);
  const from = places.length === 0 ? 0 : start;
  return `${from > 0 ? "…" : ""}${text.slice(from, from + 140)}`;
}

/** Adds a text to an element, with the words marked. */
function addMarked(element: Element, text: string, words: readonly string[]): void {
  const lower = text.toLowerCase();
  let at = 0;
  while (at < text.length) {
    const [next] = words
      .map((word) => ({ length: word.length, index: lower.indexOf(word, at) }))
      .filter(({ index }) => index >= 0)
      .toSorted((a, b) => a.index - b.index || b.length - a.length);
    if (!next) break;
    const mark = document.createElement("mark");
    mark.textContent = text.slice(next.index, next.index + next.length);
    element.append(text.slice(at, next.index), mark);
    at = next.index + next.length;
  }
  element.append(text.slice(at));
}

function resultItem([address, page, heading, text]: SearchRow, words: readonly string[], index: number): HTMLElement {
  const item = document.createElement("li");
  item.id = `result-${index}`;
  item.role = "option";
  const link = document.createElement("a");
  link.href = toPage(address);
  link.tabIndex = -1;
  const title = document.createElement("strong");
  addMarked(title, heading === "" ? page : heading, words);
  const place = document.createElement("small");
  place.textContent = heading === "" ? "" : page;
  const line = document.createElement("span");
  addMarked(line, excerpt(text, words), words);
  link.append(title, place, line);
  item.append(link);
  return item;
}

function messageItem(text: string): HTMLElement {
  const item = document.createElement("li");
  item.className = "none";
  item.textContent = text;
  return item;
}

/** Makes a search of the box, its input and its list of results. */
function startSearch(box: HTMLElement, input: HTMLInputElement, list: HTMLElement): void {
  let active = -1;

  const items = () => [...list.querySelectorAll("[role=option]")];
  const open = (isOpen: boolean) => {
    list.hidden = !isOpen;
    input.setAttribute("aria-expanded", String(isOpen));
  };
  const choose = (index: number) => {
    const all = items();
    active = all.length === 0 ? -1 : (index + all.length) % all.length;
    for (const [at, item] of all.entries()) item.setAttribute("aria-selected", String(at === active));
    if (active === -1) input.removeAttribute("aria-activedescendant");
    else input.setAttribute("aria-activedescendant", `result-${active}`);
    all[active]?.scrollIntoView({ block: "nearest" });
  };
  const show = async () => {
    const { value } = input;
    const words = value.toLowerCase().split(/\s+/).filter(Boolean).slice(0, maxWords);
    const all = words.length === 0 ? [] : await loadRows();
    // The rows may come after more has been typed.
    if (input.value !== value) return;
    const found = all
      .map((row) => ({ row, score: scoreOf(row, words) }))
      .filter(({ score }) => score > 0)
      .toSorted((a, b) => b.score - a.score)
      .slice(0, maxResults);
    const shown = found.map(({ row }, index) => resultItem(row, words, index));
    list.replaceChildren(...(shown.length > 0 ? shown : [messageItem("Nothing found.")]));
    open(words.length > 0);
    choose(0);
  };
  const fail = () => {
    rows = undefined;
    list.replaceChildren(messageItem("The search could not be loaded."));
    open(true);
  };

  input.addEventListener("focus", () => void loadRows().catch(() => (rows = undefined)));
  input.addEventListener("input", () => void show().catch(fail));
  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "Escape") open(false);
    else if (event.key === "Enter") list.querySelector<HTMLElement>("[aria-selected=true] a")?.click();
    else if (event.key === "ArrowDown") choose(active + 1);
    else if (event.key === "ArrowUp") choose(active - 1);
    else return;
    if (event.key !== "Escape") event.preventDefault();
  });
  list.addEventListener("click", () => open(false));
  document.addEventListener("click", ({ target }) => {
    if (!(target instanceof Node && box.contains(target))) open(false);
  });
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement;
    if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    input.focus();
  });
  box.hidden = false;
}

const [searchBox, searchInput, searchResults] = [
  document.querySelector<HTMLElement>(".search"),
  document.querySelector<HTMLInputElement>(".search input"),
  document.querySelector<HTMLElement>("#results"),
];
if (searchBox && searchInput && searchResults) startSearch(searchBox, searchInput, searchResults);
