import type { View } from "./view.ts";

/** Names the chat in the metadata of the message, for a reader that has sent no id. */
export function withChatId(view: View, chatId: string | undefined): View {
  if (chatId === undefined) return view;
  return async (chunk) => {
    const seen = await view(chunk);
    return seen.map((each) =>
      each.type === "start"
        ? { ...each, messageMetadata: { ...(each.messageMetadata as object | undefined), chatId } }
        : each,
    );
  };
}
