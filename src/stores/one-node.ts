import { randomBytes } from "node:crypto";
import { BridgeError } from "../protocol/index.ts";
import type { ChatLease, LeaseStore } from "./lease-store.ts";

/** The leases of a store that only one process uses: it has every chat, so nothing is ever posted. */
export function oneNode(hasChat: (chat: string) => Promise<boolean>): LeaseStore {
  const node = randomBytes(8).toString("hex");
  const held = new Map<string, ChatLease>();
  return {
    node,
    async holdChat(chat) {
      const lease = held.get(chat);
      if (lease) return lease;
      if (!(await hasChat(chat))) throw new BridgeError("not_found", `There is no chat ${chat}.`);
      const taken = { node, fence: 1, until: Infinity };
      held.set(chat, taken);
      return { ...taken, isNew: true };
    },
    leaseOf: async (chat) => held.get(chat),
    renewChats: async () => [],
    async releaseChats(chats) {
      for (const chat of chats) held.delete(chat);
    },
    post: async ({ chat }) => {
      throw new Error(`Chat ${chat} is at no other node.`);
    },
    takePosted: async () => [],
    answerPosted: async () => undefined,
    readAnswer: async () => undefined,
    takeBack: async () => false,
    onPosted: () => () => undefined,
    notePresence: async () => undefined,
    isPresentElsewhere: async () => false,
  };
}
