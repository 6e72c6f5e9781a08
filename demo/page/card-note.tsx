import type { ApprovalData, ApprovalView } from "adk-stream-protocol/protocol";
import { Fragment, type ReactNode } from "react";
import type { CardState } from "./card-state.ts";
import { isClientTool } from "./client-tools.ts";
import { clockTime, pointInTime } from "./format.ts";
import { useWords } from "./preferences.ts";
import { VisibleText } from "./visible-text.tsx";

export interface CardNoteProps {
  state: CardState;
  data: ApprovalData | undefined;
  row: ApprovalView | undefined;
  runningHere: boolean;
  toolName: string;
}

/** The name that the server gives to everyone if no one has to sign in. It says nothing. */
const nameless = "local";

/** Who asked, when and by whom the call was decided, and what the state means. */
export function CardNote(props: CardNoteProps) {
  const { state, row } = props;
  const { t, language } = useWords();
  const meaning = useMeaning(props);
  const facts: ReactNode[] = [];
  const asker = row?.requestedBy;
  if (asker !== undefined && asker !== nameless)
    facts.push(
      <span data-requested-by={asker}>
        {t.askedBy} <VisibleText text={asker} />
      </span>,
    );
  if (row?.decidedAt !== undefined && decided.has(state)) {
    const time = clockTime(row.decidedAt, language);
    facts.push(<Deed words={state === "denied" ? t.deniedAt(time) : t.approvedAt(time)} by={row.decidedBy} />);
  }
  const resolver = row?.resolvedBy;
  if (resolver !== undefined && (state === "done" || state === "failed"))
    facts.push(<Deed words={state === "done" ? t.resolution.didHappen : t.resolution.didNotHappen} by={resolver} />);
  else facts.push(meaning);
  return (
    <p className="card-note">
      {facts.map((fact, index) => (
        <Fragment key={index}>
          {index > 0 && " · "}
          {fact}
        </Fragment>
      ))}
    </p>
  );
}

const decided: ReadonlySet<CardState> = new Set(["done", "failed", "denied", "running", "waiting", "unknown"]);

/** What was done, and by whom if the server knows a name. */
function Deed({ words, by }: { words: string; by: string | undefined }) {
  const { t } = useWords();
  const [before, after] = t.by;
  if (by === undefined || by === nameless) return <>{words}</>;
  return (
    <span data-decided-by={by}>
      {words}
      {before}
      <VisibleText text={by} />
      {after}
    </span>
  );
}

/** A sentence about the state. */
function useMeaning({ state, data, row, runningHere, toolName }: CardNoteProps): string {
  const { t, language } = useWords();
  const inBrowser = isClientTool(toolName);
  if (state === "done") return t.ranOnce;
  if (row?.decidedAt !== undefined && inBrowser && t.begun[state] !== undefined) return t.begun[state];
  if (state === "running" && runningHere) return t.runsHere;
  if (state === "unknown" && (row ?? data)?.reportBy !== undefined) return t.unreported;
  const until = row?.reportBy ?? data?.reportBy;
  if (state === "waiting" && until !== undefined) return t.waitsUntil(pointInTime(until, language));
  return t.notes[state];
}
