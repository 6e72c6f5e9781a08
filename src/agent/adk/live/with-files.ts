import type { BaseLlmConnection } from "@google/adk";
import type { Content } from "@google/genai";

/** The connection, but what it sends has the content of files and not their addresses. Changes it in place. */
export function withFiles(
  connection: BaseLlmConnection,
  { fillIn }: { fillIn(contents: Content[]): Promise<void> },
): BaseLlmConnection {
  const sendHistory = connection.sendHistory.bind(connection);
  const sendContent = connection.sendContent.bind(connection);
  return Object.assign(connection, {
    async sendHistory(history: Content[]): Promise<void> {
      const filled = [...history];
      await fillIn(filled);
      return sendHistory(filled);
    },
    async sendContent(content: Content): Promise<void> {
      // Responses are sent as their tools gave them. Which content is a handover is known by its object (`isHandover`).
      if (!content.parts?.some(({ fileData }) => fileData)) return sendContent(content);
      const filled = [content];
      await fillIn(filled);
      return sendContent(filled[0] ?? content);
    },
  });
}
