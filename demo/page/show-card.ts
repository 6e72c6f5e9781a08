import { shownEvent } from "adk-stream-protocol/react";

/** Scrolls to the top of a card and moves the keyboard focus to it. */
export function showCard(approvalId: string): void {
  const card = document.querySelector<HTMLElement>(`article[data-approval-id="${CSS.escape(approvalId)}"]`);
  card?.scrollIntoView({ block: "start" });
  card?.dispatchEvent(new CustomEvent(shownEvent, { bubbles: true }));
  card?.focus({ preventScroll: true });
}
