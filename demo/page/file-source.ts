/**
 * How the page shows a file: `picture` is drawn, `own` is a download from the message or from this server, `link` leads
 * to another server and is fetched only by a click, `none` is only named.
 */
export type FileSource = "picture" | "own" | "link" | "none";

/** SVG is not drawn: it is a document, and the server does not accept it either. */
const drawn = /^image\/(?!svg)[\w.+-]+$/i;

export function fileSource(url: string, mediaType: string): FileSource {
  const isOwn = /^\/files\/[^/?#\\]+$/.test(url);
  if (/^data:image\/(?!svg)/i.test(url)) return "picture";
  if (isOwn) return drawn.test(mediaType) ? "picture" : "own";
  if (/^data:/i.test(url)) return "own";
  return /^https?:\/\//i.test(url) ? "link" : "none";
}
