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
  const facts: ReactNode[] = [];
  if (isName(requestedBy)) facts.push(<VisibleText text={labels.requestedBy(requestedBy)} />);
  if (!isOpen && isName(decidedBy)) facts.push(<VisibleText text={labels.decidedBy(decidedBy)} />);
  const sentences = sentencesOf(info, labels, language);
  if (isOpen && info.answer) sentences.unshift(<Unconfirmed approved={info.answer.approved} />);
  if (state === "unsent" && info.problem) sentences.push(<VisibleText text={info.problem} />);
  if (sentences.length > 0) facts.push(<Joined parts={sentences} by=" " />);
  if (facts.length === 0) return null;
  return (
    <p {...part("note")}>
      <Joined parts={facts} by=" · " />
    </p>
  );
}

function Joined({ parts, by }: { parts: readonly ReactNode[]; by: string }) {
  return parts.map((each, index) => (
    <Fragment key={index}>
      {index > 0 && by}
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

function sentencesOf(info: ApprovalInfo, labels: ApprovalLabels, language: string): ReactNode[] {
  const { state, reportBy } = info;
  const sentences: string[] = [];
  if (info.decidedElsewhere) sentences.push(labels.elsewhere[state === "denied" ? "denied" : "approved"]);
  if (info.resolvedBy !== undefined && state === "done") sentences.push(labels.resolution.didHappen);
  else if (info.resolvedBy !== undefined && state === "failed") sentences.push(labels.resolution.didNotHappen);
  else if (state === "unknown" && reportBy !== undefined) sentences.push(labels.unreported);
  else if (state === "waiting" && reportBy !== undefined) sentences.push(labels.waitsUntil(timeOf(reportBy, language)));
  else sentences.push(labels.notes[state]);
  return sentences.filter((sentence) => sentence !== "");
}

/** A time, with its day if it is not today. */
function timeOf(at: number, language: string): string {
  const isToday = new Date(at).toDateString() === new Date().toDateString();
  const day = isToday ? {} : ({ day: "numeric", month: "short" } as const);
  return new Date(at).toLocaleString(localeOf(language), { ...day, hour: "2-digit", minute: "2-digit" });
}
