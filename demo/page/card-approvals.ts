import type { ChatApprovals } from "adk-stream-protocol/client";
import type { Resolved } from "./resolution.ts";
import type { Strings } from "./strings.ts";
import type { BridgeChat } from "./use-bridge-chat.ts";

/** The approvals of this page's chat, as cards use them. */
export function cardApprovals(bridge: BridgeChat, t: Strings): ChatApprovals {
  return {
    get: (approvalId) => bridge.cards.get(approvalId),
    list: () => [...bridge.cards.values()],
    // The chat keeps the answer until the server has it. What became of it is in the state of the card.
    async answer(approvalId, { approved, reason }) {
      bridge.answer(approvalId, approved, reason);
    },
    async resolve(approvalId, resolution) {
      const resolved = await bridge.resolve(approvalId, resolution);
      if (resolved !== "resolved") throw new Error(refusalOf(resolved, t));
    },
    retry: bridge.sendAgain,
  };
}

function refusalOf(resolved: Exclude<Resolved, "resolved">, t: Strings): string {
  if (resolved === "unreachable") return "";
  return resolved === "missing" ? t.resolution.missing : t.resolution.already(t.states[resolved.state]);
}
