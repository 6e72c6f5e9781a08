import { useCallback, useEffect, useRef, useState } from "react";
import { fetchLedger, fetchWallet, type Ledger, type Wallet } from "./api.ts";
import { isOver } from "./card-state.ts";

const fastMs = 1200;
const slowMs = 5000;

export interface LedgerState extends Ledger {
  wallet: Wallet | undefined;
  /** When the last answer was asked for, by our clock; 0 before the first. */
  askedAt: number;
  clockOffset: number;
  /** The last question got no answer. */
  offline: boolean;
  refresh: () => void;
}

const nothing = { approvals: [], sequence: 0, running: false, askedAt: 0, clockOffset: 0, offline: false };

/**
 * Asks the server how things stand: often while something is pending or running, seldom otherwise, not at all while
 * nobody looks, at once when somebody looks again. So a second tab, an expiry or an answer given elsewhere shows up.
 */
export function useLedger(chatId: string, { isNew, busy }: { isNew: boolean; busy: boolean }): LedgerState {
  const [state, setState] = useState<Omit<LedgerState, "wallet" | "refresh">>(nothing);
  const [wallet, setWallet] = useState<Wallet>();
  const ask = useRef<() => void>(() => undefined);
  const open = busy || state.offline || state.running || state.approvals.some((row) => !isOver(row.state));

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let asking = false;
    let again = false;
    let gone = false;

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
        if (!gone) {
          setState((before) => {
            const next = { ...before, ...ledger, askedAt, offline: false };
            return { ...next, approvals: keep(before.approvals, next.approvals) };
          });
          setWallet((before) => keep(before, purse));
        }
      } catch {
        if (!gone) setState((before) => ({ ...before, offline: true }));
      }
      asking = false;
      if (gone) return;
      if (again) {
        again = false;
        void poll();
      } else if (!document.hidden) {
        timer = setTimeout(() => void poll(), open ? fastMs : slowMs);
      }
    };
    const look = () => {
      if (!document.hidden) void poll();
    };
    ask.current = () => void poll();
    void poll();
    document.addEventListener("visibilitychange", look);
    window.addEventListener("focus", look);
    return () => {
      gone = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", look);
      window.removeEventListener("focus", look);
    };
  }, [chatId, isNew, open]);

  const refresh = useCallback(() => ask.current(), []);
  return { ...state, wallet, refresh };
}

/** The old value when the new one says the same, so that nothing is drawn again for nothing. */
function keep<T>(before: T, next: T): T {
  return JSON.stringify(before) === JSON.stringify(next) ? before : next;
}
