/** An address that the page may turn into a link. */
export interface SafeLink {
  href: string;
  /** Where the link really leads, for a reader who sees other words: the host, or the mail address. */
  target: string;
}

const maxLength = 2048;

/**
 * Checks an address from a model. Only http, https and mailto become links. An address with a user name in it
 * (`https://bank.example@evil.example`) does not, because it looks like another one.
 */
export function safeLink(address: string): SafeLink | undefined {
  // Browsers ignore tabs and line breaks in an address, so `java\nscript:` would be a script.
  if (address.length > maxLength || /[\s\p{Cc}]/u.test(address)) return undefined;
  if (/^mailto:[^?&@]+@[^?&@]+$/i.test(address)) return { href: address, target: address.slice("mailto:".length) };
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address)) return undefined;
  const url = new URL(address);
  if (url.username !== "" || url.password !== "") return undefined;
  return { href: url.href, target: url.host };
}
