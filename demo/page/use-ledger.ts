import { useCallback, useEffect, useRef, useState } from "react";
import { fetchLedger, fetchWallet, type Ledger, SignedOut, type Wallet } from "./api.ts";
import { isOver } from "./card-state.ts";

const fastMs = 1200;
const slowMs = 5000;

export interface LedgerState extends Ledger {
  wallet: Wallet | undefined;
  /** When the ledger was last requested, by the browser's clock; 0 before the first request. */
  askedAt: number;
  clockOffset: number;
  /** The last request failed. */
  offline: boolean;
  /** The last request failed because the person is signed out. */
  signedOut: boolean;
  /** The chat was deleted while it was open here. */
  deleted: boolean;
  refresh: () => void;
}

const nothing = {
  approvals: [],
  sequence: 0,
  running: false,
  askedAt: 0,
  clockOffset: 0,
  offline: false,
  signedOut: false,
  deleted: false,
};

/**
 * Reads the chat's ledger from the server again and again, so that the page shows an expiry or an answer from another
 * tab. It reads often while a call waits or runs, rarely otherwise, and not while the page is hidden. When the page
 * becomes visible, it reads at once.
 */
export function useLedger(chatId: string, { isNew, busy }: { isNew: boolean; busy: boolean }): LedgerState {
  const [state, setState] = useState<Omit<LedgerState, "wallet" | "refresh">>(nothing);
  const [wallet, setWallet] = useState<Wallet>();
  const ask = useRef<() => void>(() => undefined);
  const open =
    busy || (state.offline && !state.signedOut) || state.running || state.approvals.some((row) => !isOver(row.state));

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let asking = false;
    let again = false;
    let unmounted = false;

    const poll = async () => {
      if (asking) {
        again = true;
        return;
      }
      clearTimeout(timer);
      asking = true;
      const askedAt = Date.now();
      try {
        const [ledger, purse] = await Promise.all([isNew ? undefined : fetchLedger(chatId), fetchWallet()]);
        if (!unmounted) {
          setState((before) => {
            // Everything of a chat has a sequence number, so one that has none any more is gone.
            const deleted = (before.deleted || before.sequence > 0) && (ledger ?? before).sequence === 0;
            const next = { ...before, ...ledger, askedAt, offline: false, signedOut: false, deleted };
            return { ...next, approvals: keep(before.approvals, next.approvals) };
          });
          setWallet((before) => keep(before, purse));
        }
      } catch (error) {
        const signedOut = error instanceof SignedOut;
        if (!unmounted) setState((before) => ({ ...before, offline: true, signedOut }));
      }
      asking = false;
      if (unmounted) return;
      if (again) {
        again = false;
        void poll();
      } else if (!document.hidden) {
        timer = setTimeout(() => void poll(), open ? fastMs : slowMs);
      }
    };
    const pollIfVisible = () => {
      if (!document.hidden) void poll();
    };
    ask.current = () => void poll();
    void poll();
    document.addEventListener("visibilitychange", pollIfVisible);
    window.addEventListener("focus", pollIfVisible);
    return () => {
      unmounted = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", pollIfVisible);
      window.removeEventListener("focus", pollIfVisible);
    };
  }, [chatId, isNew, open]);

  const refresh = useCallback(() => ask.current(), []);
  return { ...state, wallet, refresh };
}

/** The old value if the new one is equal, so that React does not draw it again. */
function keep<T>(before: T, next: T): T {
  return JSON.stringify(before) === JSON.stringify(next) ? before : next;
}
