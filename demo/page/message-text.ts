import type { UIMessage } from "ai";

/** The words of a message as its author wrote them, one paragraph for each part. */
export function messageText({ parts }: Pick<UIMessage, "parts">): string {
  return parts.flatMap((part) => (part.type === "text" && part.text !== "" ? [part.text] : [])).join("\n\n");
}

/** The parts of a message after an edit: the new words, and the files that it had. */
export function editedParts({ parts }: Pick<UIMessage, "parts">, text: string): UIMessage["parts"] {
  return [...parts.filter(({ type }) => type === "file"), { type: "text", text }];
}

/** Whether another reply in the place of this one would withdraw something a person has not seen the end of. */
export function withdrawsMore(
  messages: readonly UIMessage[],
  messageId: string,
  hasQuestion: (message: UIMessage) => boolean,
): boolean {
  const index = messages.findIndex(({ id }) => id === messageId);
  const message = messages[index];
  return message !== undefined && (index < messages.length - 1 || hasQuestion(message));
}
