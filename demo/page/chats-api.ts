/** A chat in the list. */
export interface ChatSummary {
  id: string;
  title: string;
  createdAt: number;
  updatedAt: number;
  /** How many requests wait for an answer in it. */
  pending: number;
}

/** A page of the list, the chat that changed last first. `cursor` names the next page. */
export interface ChatPage {
  chats: ChatSummary[];
  cursor?: string;
}

export const maxImportBytes = 32 * 1024 * 1024;
const pageSize = 30;

export async function fetchChats(cursor?: string, limit = pageSize): Promise<ChatPage> {
  const query = new URLSearchParams({ limit: String(limit), ...(cursor === undefined ? {} : { cursor }) });
  const response = await request(`/chats?${query}`, { cache: "no-store" });
  return (await response.json()) as ChatPage;
}

export async function renameChat(chatId: string, title: string): Promise<void> {
  const headers = { "content-type": "application/json" };
  await request(pathOf(chatId), { method: "PATCH", headers, body: JSON.stringify({ title }) });
}

/** Deletes a chat. One that does not exist any more is deleted already. */
export async function deleteChat(chatId: string): Promise<void> {
  const response = await fetch(pathOf(chatId), { method: "DELETE" });
  if (!response.ok && response.status !== 404) throw new Error(await response.text());
}

/** Makes a new chat of an exported file. Returns the id of the new chat. */
export async function importChat(file: Blob): Promise<string> {
  const headers = { "content-type": "application/x-ndjson" };
  const response = await request("/chats/import", { method: "POST", headers, body: file });
  return ((await response.json()) as { id: string }).id;
}

export const exportAddress = (chatId: string): string => `${pathOf(chatId)}/export`;

const pathOf = (chatId: string): string => `/chats/${encodeURIComponent(chatId)}`;

/** Throws the server's refusal, as AI SDK does: its text is `{code, message}`. */
async function request(path: string, init: RequestInit): Promise<Response> {
  const response = await fetch(path, init);
  if (!response.ok) throw new Error(await response.text());
  return response;
}
