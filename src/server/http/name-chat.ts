/** The header that names the chat of a reply. */
export const chatIdHeader = "x-chat-id";

/** Names the chat of a reply in its header. A header has only visible ASCII, so other ids are percent-encoded. */
export function nameChat(response: Response, chat: string): Response {
  response.headers.set(chatIdHeader, /^[\x21-\x7e]+$/.test(chat) ? chat : encodeURIComponent(wellFormed(chat)));
  return response;
}

/** Half of a pair of surrogates cannot be encoded. */
function wellFormed(text: string): string {
  return new TextDecoder().decode(new TextEncoder().encode(text));
}
