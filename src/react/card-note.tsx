import { Fragment, type ReactNode } from "react";
import type { ApprovalInfo } from "../client/chat-approvals.ts";
import { useCard } from "./card-parts.tsx";
import { isUndecided } from "./card-states.ts";
import type { ApprovalLabels } from "./labels.ts";
import { localeOf } from "./field-text.ts";
import { VisibleText } from "./visible-text.tsx";

/** The name that the server gives to everyone if no one has to sign in. It says nothing. */
const nameless = "local";
const isName = (name: string | undefined): name is string => name !== undefined && name !== nameless;

/** Who asked, who decided, and what the state means. */
export function CardNote({ info }: { info: ApprovalInfo }) {
  const { labels, language, part } = useCard();
  const { state, requestedBy, decidedBy } = info;
  const isOpen = isUndecided(info);
  const sentences = joined(
    " ",
    isOpen && info.answer && <Unconfirmed approved={info.answer.approved} />,
    info.decidedElsewhere && labels.elsewhere[state === "denied" ? "denied" : "approved"],
    meaningOf(info, labels, language),
    state === "unsent" && info.problem && <VisibleText text={info.problem} />,
  );
  const facts = joined(
    " · ",
    isName(requestedBy) && <VisibleText text={labels.requestedBy(requestedBy)} />,
    !isOpen && isName(decidedBy) && <VisibleText text={labels.decidedBy(decidedBy)} />,
    sentences,
  );
  return facts && <p {...part("note")}>{facts}</p>;
}

/** The parts that there are, with something between them; undefined if there are none. */
function joined(between: string, ...parts: ReactNode[]): ReactNode[] | undefined {
  const shown = parts.filter(Boolean);
  if (shown.length === 0) return undefined;
  return shown.map((each, index) => (
    <Fragment key={index}>
      {index > 0 && between}
      {each}
    </Fragment>
  ));
}

/** Says which answer the server has not recorded yet. */
function Unconfirmed({ approved }: { approved: boolean }) {
  const { labels } = useCard();
  const [before, after] = labels.unconfirmed;
  return (
    <>
      {before}
      <strong>{approved ? labels.approve : labels.deny}</strong>
      {after}
    </>
  );
}

/** What the state means for this call. */
function meaningOf({ state, resolvedBy, reportBy }: ApprovalInfo, labels: ApprovalLabels, language: string): string {
  if (resolvedBy !== undefined && state === "done") return labels.resolution.didHappen;
  if (resolvedBy !== undefined && state === "failed") return labels.resolution.didNotHappen;
  if (reportBy !== undefined && state === "unknown") return labels.unreported;
  if (reportBy !== undefined && state === "waiting") return labels.waitsUntil(timeOf(reportBy, language));
  return labels.notes[state];
}

/** A time, with its day if it is not today. */
function timeOf(at: number, language: string): string {
  const isToday = new Date(at).toDateString() === new Date().toDateString();
  const day = isToday ? {} : ({ day: "numeric", month: "short" } as const);
  return new Date(at).toLocaleString(localeOf(language), { ...day, hour: "2-digit", minute: "2-digit" });
}
