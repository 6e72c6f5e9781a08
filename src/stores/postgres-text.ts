/**
 * PostgreSQL's text has no NUL and no half of a surrogate pair. Both may come in ids that clients choose, and a client may
 * ask for any id. They are escaped with a character that Unicode reserves for programs, so that two texts never become one.
 * JSON needs no escaping: `JSON.stringify` writes both as `\u…`.
 */
const escape = "\u{10fffe}";
const special = /\0|\p{Surrogate}|\u{10fffe}/u;
const allSpecial = new RegExp(special, "gu");
const escaped = /\u{10fffe}([0-9a-f]{4}|x)/gu;

export function toPostgresText(text: string): string {
  if (!special.test(text)) return text;
  return text.replace(allSpecial, (found) =>
    found === escape ? `${escape}x` : escape + found.charCodeAt(0).toString(16).padStart(4, "0"),
  );
}

export function fromPostgresText(text: string): string {
  if (!text.includes(escape)) return text;
  return text.replace(escaped, (_, code: string) =>
    code === "x" ? escape : String.fromCharCode(Number.parseInt(code, 16)),
  );
}
