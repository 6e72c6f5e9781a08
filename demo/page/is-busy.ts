import type { ChatStatus } from "ai";

/** Whether the chat is sending a request or receiving a reply. */
export const isBusy = (status: ChatStatus): boolean => status === "submitted" || status === "streaming";
