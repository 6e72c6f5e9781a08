// The theme button, copy buttons, and the marks in both lists of links. The pages are complete without this script.

// ── narrow screens: the list of pages starts closed ────────────────────────────────────────────────────────────────

const pages = document.querySelector<HTMLDetailsElement>("nav.pages > details");
const isNarrow = matchMedia("(width < 60rem)");
const fitPages = () => {
  if (pages) pages.open = !isNarrow.matches;
};
fitPages();
isNarrow.addEventListener("change", fitPages);
scrollInto(document.querySelector("nav.pages"), document.querySelector("nav.pages [aria-current]"));

/** Scrolls a list, and never the page. */
function scrollInto(list: Element | null, item: Element | null): void {
  if (!list || !item) return;
  const [outer, inner] = [list.getBoundingClientRect(), item.getBoundingClientRect()];
  if (inner.top < outer.top) list.scrollTop -= outer.top - inner.top + 40;
  else if (inner.bottom > outer.bottom) list.scrollTop += inner.bottom - outer.bottom + 40;
}

// ── theme ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const themeButton = document.querySelector<HTMLButtonElement>("button.theme");
if (themeButton) themeButton.hidden = false;
themeButton?.addEventListener("click", () => {
  const { dataset } = document.documentElement;
  const isSystemDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const isDark = dataset["theme"] ? dataset["theme"] === "dark" : isSystemDark;
  const theme = isDark ? "light" : "dark";
  dataset["theme"] = theme;
  try {
    localStorage.setItem("docs-theme", theme);
  } catch {
    // The choice lasts until the next page.
  }
});

// ── copy buttons ───────────────────────────────────────────────────────────────────────────────────────────────────

for (const block of document.querySelectorAll("pre.code")) {
  const frame = document.createElement("div");
  frame.className = "code-frame";
  block.replaceWith(frame);
  frame.append(block);
  // Browsers offer the clipboard to pages of this machine and to HTTPS only.
  if ("clipboard" in navigator) frame.append(copyButton(block.textContent));
}

function copyButton(text: string): HTMLButtonElement {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  const say = (word: string) => {
    button.textContent = word;
    setTimeout(() => (button.textContent = "Copy"), 1500);
  };
  button.addEventListener("click", () => {
    navigator.clipboard.writeText(text).then(
      () => say("Copied"),
      () => say("Not allowed"),
    );
  });
  return button;
}

// ── the section that is being read ─────────────────────────────────────────────────────────────────────────────────

const outline = document.querySelector("nav.outline");
const links = new Map(
  [...document.querySelectorAll<HTMLAnchorElement>("nav.outline a")].map((link) => [
    decodeURIComponent(link.hash.slice(1)),
    link,
  ]),
);
const headings = [...document.querySelectorAll("h2[id], h3[id]")];

function markSection(): void {
  const current = headings.findLast((heading) => heading.getBoundingClientRect().top < 120) ?? headings[0];
  for (const [id, link] of links) {
    const isCurrent = id === current?.id;
    if (isCurrent === link.hasAttribute("aria-current")) continue;
    if (isCurrent) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
    if (isCurrent) scrollInto(outline, link);
  }
}

if (links.size > 0) {
  document.addEventListener("scroll", markSection, { passive: true });
  markSection();
}
