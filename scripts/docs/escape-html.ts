const signs: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** Makes a text safe for an element or an attribute. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => signs[sign] ?? sign);
}

/** The text of a piece of HTML. */
export function textOf(html: string): string {
  const text = html.replaceAll(/<[^>]*>/g, " ");
  return Object.entries(signs)
    .toReversed()
    .reduce((known, [sign, entity]) => known.replaceAll(entity, sign), text)
    .replaceAll(/\s+/g, " ")
    .trim();
}
