import { useEffect, useRef } from "react";
import type { Card } from "./cards.ts";

export interface ResendOptions {
  cards: ReadonlyMap<string, Card>;
  /** The last request failed because the server could not be reached. */
  isLost: boolean;
  /** The server has replied to something since. Changes with every reply. */
  reachedAt: number | undefined;
  sendAgain: () => void;
}

/** A request that fails every time is not sent for ever. The person can still send the answer. */
const mostAttempts = 5;

/** Sends the answers that did not reach the server again as soon as the server can be reached. */
export function useResendAnswers({ cards, isLost, reachedAt, sendAgain }: ResendOptions): void {
  const attempts = useRef(new Map<string, number>());
  const usedAt = useRef(reachedAt);
  useEffect(() => {
    if (!isLost || reachedAt === undefined || reachedAt === usedAt.current) return;
    usedAt.current = reachedAt;
    const open = [...cards.values()].filter(({ approvalId, state }) => {
      return state === "unsent" && (attempts.current.get(approvalId) ?? 0) < mostAttempts;
    });
    if (open.length === 0) return;
    for (const { approvalId } of open) attempts.current.set(approvalId, (attempts.current.get(approvalId) ?? 0) + 1);
    sendAgain();
  }, [cards, isLost, reachedAt, sendAgain]);
}
