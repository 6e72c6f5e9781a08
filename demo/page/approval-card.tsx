import type { ApprovalData, ApprovalView } from "adk-stream-protocol/protocol";
import { getToolName, type DynamicToolUIPart, type ToolUIPart } from "ai";
import { useRef } from "react";
import { CallArguments } from "./call-arguments.tsx";
import type { CardState } from "./card-state.ts";
import { isClientTool } from "./client-tools.ts";
import { DecisionButtons } from "./decision-buttons.tsx";
import { clockTime } from "./format.ts";
import { JsonBlock } from "./json-block.tsx";
import { useWords } from "./preferences.ts";
import { VisibleText } from "./visible-text.tsx";

type ToolPart = ToolUIPart | DynamicToolUIPart;

export interface ApprovalCardProps {
  part: ToolPart;
  approvalId: string;
  state: CardState;
  data: ApprovalData | undefined;
  row: ApprovalView | undefined;
  runningHere: boolean;
  clockOffset: number;
  onAnswer: (approvalId: string, approved: boolean, reason?: string) => void;
  onSendAgain: () => void;
}

/** One call that a person decides about: what exactly would run, and its state as the server reports it. */
export function ApprovalCard(props: ApprovalCardProps) {
  const { part, approvalId, state, data, row, runningHere } = props;
  const { t } = useWords();
  const card = useRef<HTMLElement>(null);
  const toolName = getToolName(part);
  const input: unknown = row?.input ?? part.input;
  const hint = hintOf(part, row);
  const output: unknown = part.output ?? data?.output ?? row?.output;

  const answer = (approved: boolean, reason?: string) => {
    props.onAnswer(approvalId, approved, reason);
    // The buttons disappear; the keyboard focus stays on the card.
    card.current?.focus();
  };

  return (
    <article
      ref={card}
      className={`card card-${state}`}
      aria-label={t.cardLabel(toolName)}
      tabIndex={-1}
      data-state={state}
      data-approval-id={approvalId}
    >
      <header className="card-head">
        <h2>{toolName}</h2>
        <span className="tag">
          {(state === "sending" || state === "running") && <span className="spinner" aria-hidden="true" />}
          {tagOf(state, toolName, t)}
        </span>
      </header>
      {hint && <Hint text={hint} />}
      {!(state === "waiting" && hint) && <Note state={state} row={row} runningHere={runningHere} toolName={toolName} />}
      <CallArguments input={input} />
      <Outcome state={state} part={part} data={data} row={row} output={output} />
      {state === "waiting" && (
        <DecisionButtons onAnswer={answer} {...expiryOf(data, row)} clockOffset={props.clockOffset} />
      )}
      {state === "undelivered" && (
        <div className="card-actions">
          <button type="button" className="button button-primary" onClick={props.onSendAgain}>
            {t.sendAgain}
          </button>
        </div>
      )}
      <div className="mores">
        <details className="more">
          <summary>{t.exactCall}</summary>
          <JsonBlock value={{ tool: toolName, arguments: input }} label={t.exactCall} />
          {row && (
            <p className="digest">
              {t.digest} <code>{row.digest}</code>
            </p>
          )}
        </details>
        {state === "done" && output !== undefined && (
          <details className="more">
            <summary>{t.result}</summary>
            <JsonBlock value={output} label={t.result} />
          </details>
        )}
      </div>
    </article>
  );
}

function tagOf(state: CardState, toolName: string, t: ReturnType<typeof useWords>["t"]): string {
  return state === "done" && toolName === "process_payment" ? t.paid : t.tags[state];
}

function expiryOf(data: ApprovalData | undefined, row: ApprovalView | undefined) {
  return { createdAt: row?.createdAt, expiresAt: row?.expiresAt ?? data?.expiresAt };
}

/** What the model or the tool says about the call. */
function hintOf(part: ToolPart, row: ApprovalView | undefined): string | undefined {
  const approval = part.approval as { descriptor?: unknown; requestReason?: string } | undefined;
  const described = (approval?.descriptor as { hint?: unknown } | undefined)?.hint;
  return row?.hint ?? (typeof described === "string" ? described : approval?.requestReason);
}

/** The hint may be wrong or a lie, so it is marked as the assistant's and kept apart from the arguments. */
function Hint({ text }: { text: string }) {
  const { t } = useWords();
  const [before, after] = t.assistantSays;
  return (
    <p className="card-hint">
      {before}
      <VisibleText text={text} />
      {after}
    </p>
  );
}

/** When and by whom the call was decided, and what the state means. */
function Note(props: { state: CardState; row: ApprovalView | undefined; runningHere: boolean; toolName: string }) {
  const { state, row, runningHere, toolName } = props;
  const { t, language } = useWords();
  const facts: string[] = [];
  if (row?.decidedAt !== undefined) {
    const time = clockTime(row.decidedAt, language);
    if (state === "denied") facts.push(t.deniedAt(time));
    else if (state === "done" || state === "failed" || state === "running") facts.push(t.approvedAt(time));
  }
  const begun = row?.decidedAt !== undefined && isClientTool(toolName) ? t.begun[state] : undefined;
  if (state === "done") facts.push(t.ranOnce);
  else if (begun) facts.push(begun);
  else facts.push(state === "running" && runningHere ? t.runsHere : t.notes[state]);
  // Without sign-in every decision is the one local person's.
  const by = row?.decidedBy === "local" ? undefined : row?.decidedBy;
  return (
    <p className="card-note">
      {facts.join(" · ")}
      {by !== undefined && (
        <span data-decided-by={by}>
          {` · ${t.decidedBy} `}
          <VisibleText text={by} />
        </span>
      )}
    </p>
  );
}

/** The transaction number of a payment, the error, or the reason for a denial. */
function Outcome(props: {
  state: CardState;
  part: ToolPart;
  data: ApprovalData | undefined;
  row: ApprovalView | undefined;
  output: unknown;
}) {
  const { state, part, data, row, output } = props;
  const { t } = useWords();
  const errorText = part.errorText ?? data?.errorText ?? row?.errorText;
  const reason = row?.reason ?? data?.reason ?? (part.approval as { reason?: string } | undefined)?.reason;
  const transaction = (output as { transaction_id?: unknown } | null | undefined)?.transaction_id;

  const shown = [
    { when: state === "done", label: t.transaction, text: transaction },
    { when: state === "failed", label: t.error, text: errorText },
    { when: state === "denied" || state === "cancelled", label: t.reason, text: reason },
  ].find(({ when, text }) => when && typeof text === "string" && text !== "");
  if (!shown) return null;
  return (
    <dl className="fields">
      <div className="field field-outcome">
        <dt>{shown.label}</dt>
        <dd>
          <VisibleText text={String(shown.text)} />
        </dd>
      </div>
    </dl>
  );
}
