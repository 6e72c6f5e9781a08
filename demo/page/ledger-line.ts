import type { ApprovalView } from "adk-stream-protocol/protocol";
import { clockTime } from "./format.ts";
import type { PanelStrings } from "./panel-strings.ts";
import type { Language } from "./strings.ts";

/** A row of the server's ledger in a sentence. The state is the server's own word. */
export function ledgerLine(
  { toolName, state, decidedBy, decidedAt, finishedAt }: ApprovalView,
  words: PanelStrings["breakIt"],
  language: Language,
): string {
  return words.ledger({
    tool: toolName,
    state,
    decided:
      decidedBy === undefined || decidedAt === undefined
        ? ""
        : words.decided(decidedBy, clockTime(decidedAt, language)),
    ended: finishedAt === undefined ? "" : words.ended(clockTime(finishedAt, language)),
  });
}
