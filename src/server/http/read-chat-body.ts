import { ChatText, maxHistoryBytes } from "../read-chat.ts";
import { readBytes } from "./read-body.ts";

/** What is new in the body of a chat request, of which `maxNewBytes` may be new; the history before it is longer. */
export async function readChatBody(request: Request, maxNewBytes: number): Promise<unknown> {
  const bytes = await readBytes(request, Math.max(maxHistoryBytes, maxNewBytes));
  return new ChatText(bytes, { maxNewBytes }).read();
}
