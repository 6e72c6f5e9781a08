import type { UIMessage } from "ai";
import { approvalDataOf } from "./card-state.ts";
import { cardsOf } from "./cards.ts";
import type { BridgeChat } from "./use-bridge-chat.ts";

const nothing = () => undefined;
const none: ReadonlySet<string> = new Set();

/** A recorded conversation for the parts that draw one. Nothing can be sent, and cards show what the recording says. */
export function readOnlyChat(messages: readonly UIMessage[], clockOffset: number): BridgeChat {
  const data = approvalDataOf(messages);
  const rows: BridgeChat["rows"] = new Map();
  return {
    messages: [...messages],
    status: "ready",
    error: undefined,
    ledger: {
      approvals: [],
      sequence: 0,
      running: false,
      wallet: undefined,
      askedAt: 0,
      clockOffset,
      offline: false,
      deleted: false,
      signedOut: false,
      refresh: nothing,
    },
    rows,
    data,
    running: none,
    isAtWork: false,
    cards: cardsOf(messages, { data, rows, running: none, delivering: false }),
    outbox: {
      overtaken: [],
      unsentId: undefined,
      setAside: async () => undefined,
      sendNow: async () => undefined,
      remove: nothing,
    },
    older: { state: "none", load: nothing, goToBeginning: nothing, isGoingToBeginning: false, stopGoing: nothing },
    send: nothing,
    edit: undefined,
    again: undefined,
    answer: nothing,
    resolve: async () => "unreachable",
    sendAgain: nothing,
    retry: nothing,
    dismiss: nothing,
    stop: nothing,
  };
}
