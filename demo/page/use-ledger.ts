import type { ChatStatus } from "ai";
import { useCallback, useEffect, useRef, useState } from "react";
import { fetchLedger, fetchWallet, type Ledger, SignedOut, type Wallet } from "./api.ts";
import type { StreamTap } from "./stream-tap.ts";

export interface LedgerState extends Ledger {
  wallet: Wallet | undefined;
  /** The last request failed. */
  offline: boolean;
  /** The last request failed because the person is signed out. */
  signedOut: boolean;
  /** The chat was deleted while it was open here. */
  deleted: boolean;
  refresh: () => void;
}

const nothing = { approvals: [], sequence: 0, offline: false, signedOut: false, deleted: false };

/**
 * All approvals of the chat and the wallet, for the panel. They are read whenever the chat has asked its server (`version`),
 * when a reply begins or ends, and when the stream has something about a call.
 */
export function useLedger(
  chatId: string,
  tap: StreamTap,
  { version, status }: { version: number; status: ChatStatus },
): LedgerState {
  const [state, setState] = useState<Omit<LedgerState, "wallet" | "refresh">>(nothing);
  const [wallet, setWallet] = useState<Wallet>();
  const reading = useRef<"no" | "now" | "again">("no");
  const refresh = useCallback(async () => {
    if (reading.current !== "no") return void (reading.current = "again");
    reading.current = "now";
    try {
      const [ledger, purse] = await Promise.all([fetchLedger(chatId), fetchWallet()]);
      setState((before) => {
        // Everything of a chat has a sequence number, so one that has none any more is gone.
        const deleted = (before.deleted || before.sequence > 0) && ledger.sequence === 0;
        return keep(before, { ...ledger, offline: false, signedOut: false, deleted });
      });
      setWallet((before) => keep(before, purse));
    } catch (error) {
      setState((before) => ({ ...before, offline: true, signedOut: error instanceof SignedOut }));
    }
    const isWanted = (reading.current as string) === "again";
    reading.current = "no";
    if (isWanted) void refresh();
  }, [chatId]);

  useEffect(() => void refresh(), [refresh, version, status]);
  useEffect(
    () =>
      tap.onChunk((type) => {
        if (type === "data-approval" || type.startsWith("tool-output") || type === "finish-step") void refresh();
      }),
    [tap, refresh],
  );
  return { ...state, wallet, refresh: useCallback(() => void refresh(), [refresh]) };
}

/** The old value if the new one is equal, so that React does not draw it again. */
function keep<T>(before: T, next: T): T {
  return JSON.stringify(before) === JSON.stringify(next) ? before : next;
}
