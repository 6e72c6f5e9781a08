const linesKept = 10;
const attribute = "data-approval-announcements";

/**
 * Tells screen readers what has changed. Each announcement is a new line of one log of the page: a screen reader does not
 * read a text again that is replaced by the same text, and may not read a region that has just been added with its text.
 */
export function announce(words: string): void {
  const log = prepareAnnouncements();
  const line = document.createElement("p");
  line.textContent = words;
  log.append(line);
  while (log.childElementCount > linesKept) log.firstElementChild?.remove();
}

/** Returns the log. Adds it before there is something to announce. */
export function prepareAnnouncements(): Element {
  const known = document.querySelector(`[${attribute}]`);
  if (known) return known;
  const log = document.createElement("div");
  log.setAttribute(attribute, "");
  log.setAttribute("role", "log");
  log.setAttribute("aria-live", "polite");
  // Hidden from sight only, and without a place in the page. A content security policy allows properties that are set like this.
  Object.assign(log.style, { position: "fixed", clipPath: "inset(50%)" });
  document.body.append(log);
  return log;
}
