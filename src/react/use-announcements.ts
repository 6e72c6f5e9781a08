import { useEffect, useRef } from "react";
import type { ApprovalInfo, CardState } from "../client/chat-approvals.ts";
import { announce, prepareAnnouncements } from "./announce.ts";
import { useCard } from "./card-parts.tsx";

/** What was announced last about each approval, also if its card was removed from the page and added again. */
const announced = new Map<string, CardState>();
const rowsKept = 1000;
const settleMs = 250;
const warnBeforeMs = 60_000;
/** The longest time that a browser's timer can wait for. */
const longestTimerMs = 2 ** 31 - 1;

/** Announces a question, each new state of its call, and that it expires soon. */
export function useAnnouncements(
  { approvalId, state, expiresAt }: ApprovalInfo,
  name: string,
  clockOffset: number,
): void {
  const { labels } = useCard();
  useEffect(() => {
    prepareAnnouncements();
    // An answer on its way is no news: the person has just given it, or it is sent again.
    if (announced.get(approvalId) === state || state === "sending") return undefined;
    // A moment later: the server's words for the call may come after the question, and states follow each other fast.
    const timer = setTimeout(() => {
      const before = announced.get(approvalId);
      announced.set(approvalId, state);
      const [oldest = ""] = announced.keys();
      if (announced.size > rowsKept) announced.delete(oldest);
      if (state === "asked") announce(labels.isAsked(name));
      // A card that was settled before this page saw it is no news.
      else if (before !== undefined) announce(labels.isIn(name, labels.states[state]));
    }, settleMs);
    return () => clearTimeout(timer);
  }, [approvalId, state, name, labels]);
  const warnedOf = useRef<string | undefined>(undefined);
  useEffect(() => {
    const left = expiresAt === undefined ? 0 : expiresAt - Date.now() - clockOffset;
    if (state !== "asked" || left <= 0 || left > longestTimerMs || warnedOf.current === approvalId) return undefined;
    const warn = () => {
      warnedOf.current = approvalId;
      announce(labels.expiresSoon(name));
    };
    const timer = setTimeout(warn, Math.max(0, left - warnBeforeMs));
    return () => clearTimeout(timer);
  }, [approvalId, state, expiresAt, clockOffset, name, labels]);
}
