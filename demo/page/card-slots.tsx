import type { CardSlots, SlotProps } from "adk-stream-protocol/react";
import { isClientTool } from "./client-tools.ts";
import { useWords } from "./preferences.ts";

/** A browser tool runs in a page after the yes, so some states mean something else for it. */
function BrowserNote({ info: { state, toolName, decidedBy }, children }: SlotProps) {
  const { t } = useWords();
  if (!isClientTool(toolName)) return children;
  const words = state === "running" ? t.runsHere : decidedBy === undefined ? undefined : t.begun[state];
  return words === undefined ? children : <p data-part="note">{words}</p>;
}

/** What this page shows on its cards beside what the components show. */
export const cardSlots: CardSlots = { note: BrowserNote };
