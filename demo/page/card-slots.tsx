import type { CardSlots, SlotProps } from "adk-stream-protocol/react";
import { useContext } from "react";
import { browserTools, DemoContext } from "./browser-tools.ts";
import { useWords } from "./preferences.ts";

/** A browser tool runs in a page after the yes, so some states mean something else for it. */
function BrowserNote({ info: { state, toolName, decidedBy }, children }: SlotProps) {
  const { t } = useWords();
  const isDemo = useContext(DemoContext);
  if (!isDemo || !browserTools.has(toolName)) return children;
  const words = decidedBy === undefined ? undefined : t.begun[state];
  return words === undefined ? children : <p data-part="note">{words}</p>;
}

/** What this page shows on its cards beside what the components show. */
export const cardSlots: CardSlots = { note: BrowserNote };
