/** The demo has no sign-in: anyone who knows the id can open the chat. So the id is 128 random bits. */
export function newChatId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The chat id an address names, if any. */
export function chatIdOf(href: string): string | undefined {
  return new URL(href).searchParams.get("chat") || undefined;
}

/** The same address with another chat in it. */
export function withChatId(href: string, chatId: string): string {
  const url = new URL(href);
  url.searchParams.set("chat", chatId);
  return url.href;
}
