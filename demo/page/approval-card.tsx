import { type ApprovalCard as Texts, type ApprovalData, type ApprovalView, textIn } from "adk-stream-protocol/protocol";
import { getToolName, type DynamicToolUIPart, type ToolUIPart } from "ai";
import { useLayoutEffect, useRef, useState } from "react";
import { CallArguments } from "./call-arguments.tsx";
import { callWords } from "./call-words.ts";
import { CardNote } from "./card-note.tsx";
import type { CardState } from "./card-state.ts";
import { Countdown } from "./countdown.tsx";
import { DecisionButtons } from "./decision-buttons.tsx";
import { ExactCall } from "./exact-call.tsx";
import { interimText } from "./interim-text.ts";
import { LongValue } from "./long-value.tsx";
import { outputSummary } from "./output-summary.ts";
import { OutputView } from "./output-view.tsx";
import { useWords } from "./preferences.ts";
import type { Resolution, Resolved } from "./resolution.ts";
import { ResolutionButtons } from "./resolution-buttons.tsx";
import { LooksContext, useLooks } from "./use-looks.ts";
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
  onResolve: (approvalId: string, resolution: Resolution) => Promise<Resolved>;
  onSendAgain: () => void;
}

/** One call that a person decides about: what exactly would run, and its state as the server reports it. */
export function ApprovalCard(props: ApprovalCardProps) {
  const { part, approvalId, state, data, row, runningHere } = props;
  const { t, language } = useWords();
  const card = useRef<HTMLElement>(null);
  const toolName = getToolName(part);
  const texts: Texts = row?.card ?? data?.card ?? {};
  const title = texts.title === undefined ? undefined : textIn(texts.title, language);
  const input: unknown = row?.input ?? part.input;
  const expiry = expiryOf(data, row);
  const said = texts.hint === undefined ? toolHint(part, row) : undefined;
  // The part may still have what the tool said when it had begun.
  const output: unknown = row?.output ?? data?.output ?? part.output;

  const words = callWords(input, texts.fields, language);
  const looks = useLooks();
  const [reason, setReason] = useState("");
  const answered = (part.approval as { approved?: boolean } | undefined)?.approved;

  const stateBefore = useRef(state);
  const isFocusInside = card.current?.contains(document.activeElement) ?? false;
  // Buttons and forms disappear with their state, also while a person uses them. The keyboard focus stays on the card.
  useLayoutEffect(() => {
    if (stateBefore.current === state) return;
    stateBefore.current = state;
    if (isFocusInside && !card.current?.contains(document.activeElement)) card.current?.focus();
  }, [state, isFocusInside]);
  const answer = (approved: boolean, given?: string) => {
    props.onAnswer(approvalId, approved, given);
    // In the state that comes now the card has no draft of a reason.
    setReason("");
    card.current?.focus();
  };
  return (
    <article
      ref={card}
      className={`card card-${state}`}
      aria-label={t.card.named(t.cardLabel(title ?? toolName), words)}
      tabIndex={-1}
      data-state={state}
      data-approval-id={approvalId}
      data-tone={isUndecided(state) ? texts.tone : undefined}
    >
      <header className="card-head">
        {texts.icon !== undefined && (
          <span className="card-icon" aria-hidden="true">
            {texts.icon}
          </span>
        )}
        <div className="card-name">
          <h2>{title === undefined ? toolName : <VisibleText text={title} />}</h2>
          {title !== undefined && <code className="card-tool">{toolName}</code>}
        </div>
        <span className="tags">
          {isUndecided(state) && texts.tone === "danger" && <span className="tag tag-danger">{t.highRisk}</span>}
          <span className="tag">
            {(state === "sending" || state === "running") && <span className="spinner" aria-hidden="true" />}
            {tagOf({ state, toolName, row, answered }, t)}
          </span>
        </span>
      </header>
      {texts.hint !== undefined && isUndecided(state) && (
        <div className="card-hint card-hint-policy">
          <LongValue text={textIn(texts.hint, language)} label={t.card.hint}>
            {(text) => <VisibleText text={text} />}
          </LongValue>
        </div>
      )}
      {said !== undefined && <Said text={said} />}
      {state === "undelivered" && <Unconfirmed approved={answered} />}
      {state !== "undelivered" && !(state === "asked" && said !== undefined) && (
        <CardNote state={state} data={data} row={row} runningHere={runningHere} toolName={toolName} />
      )}
      <LooksContext value={state === "asked" ? looks.looks : undefined}>
        <CallArguments input={input} fields={texts.fields} />
      </LooksContext>
      <Outcome state={state} part={part} data={data} row={row} output={output} />
      {state === "asked" && (
        <DecisionButtons
          words={words}
          looks={looks}
          reason={reason}
          onReason={setReason}
          onAnswer={answer}
          {...expiry}
          clockOffset={props.clockOffset}
        />
      )}
      {state !== "asked" && reason.trim() !== "" && (
        <p className="card-hint">
          {t.card.unsentReason} <VisibleText text={reason} />
        </p>
      )}
      {state === "unknown" && <ResolutionButtons onResolve={(resolution) => props.onResolve(approvalId, resolution)} />}
      {(state === "undelivered" || state === "sending") && (
        <div className="card-actions">
          {state === "undelivered" && (
            <button
              type="button"
              className="button button-primary"
              aria-label={t.card.named(t.card.sendAgain(answered !== false), words)}
              onClick={props.onSendAgain}
            >
              {t.card.sendAgain(answered !== false)}
            </button>
          )}
          {expiry.expiresAt !== undefined && (
            <Countdown createdAt={expiry.createdAt} expiresAt={expiry.expiresAt} clockOffset={props.clockOffset} />
          )}
        </div>
      )}
      <div className="mores">
        <ExactCall toolName={toolName} input={input} row={row} />
        {state === "done" && output !== undefined && (
          <details className="more">
            <summary>{t.result}</summary>
            <OutputView output={output} label={t.result} />
          </details>
        )}
      </div>
    </article>
  );
}

/** The hint is for the decision. Later the card says what was decided and what came of it. */
function isUndecided(state: CardState): boolean {
  return state === "asked" || state === "sending" || state === "undelivered";
}

interface TagFacts {
  state: CardState;
  toolName: string;
  row: ApprovalView | undefined;
  answered: boolean | undefined;
}

function tagOf({ state, toolName, row, answered }: TagFacts, t: ReturnType<typeof useWords>["t"]): string {
  if (state === "sending" && answered !== undefined) return t.card.sending(answered);
  if (state === "failed" && row?.resolvedBy !== undefined) return t.resolution.notTag;
  return state === "done" && toolName === "process_payment" ? t.paid : t.tags[state];
}

function expiryOf(data: ApprovalData | undefined, row: ApprovalView | undefined) {
  return { createdAt: row?.createdAt, expiresAt: row?.expiresAt ?? data?.expiresAt };
}

/** What the tool says about the call. The hint of the server's policy, if there is one, is shown instead. */
function toolHint(part: ToolPart, row: ApprovalView | undefined): string | undefined {
  const approval = part.approval as { descriptor?: unknown; requestReason?: string } | undefined;
  const described = (approval?.descriptor as { hint?: unknown } | undefined)?.hint;
  return row?.hint ?? (typeof described === "string" ? described : undefined);
}

/** Says which answer the server has not confirmed. */
function Unconfirmed({ approved = true }: { approved: boolean | undefined }) {
  const { t } = useWords();
  const [before, after] = t.card.unconfirmed;
  return (
    <p className="card-note">
      {before}
      <strong>{approved ? t.approve : t.denyNow}</strong>
      {after}
    </p>
  );
}

/** The hint of a tool may be wrong or a lie, so it is marked as the assistant's and kept apart from the arguments. */
function Said({ text }: { text: string }) {
  const { t } = useWords();
  const [before, after] = t.assistantSays;
  return (
    <div className="card-hint">
      {before}
      <LongValue text={text} label={t.card.hint}>
        {(shown) => <VisibleText text={shown} />}
      </LongValue>
      {after}
    </div>
  );
}

/** The transaction number of a payment, what a call that has begun says, the error, or the reason for a denial. */
function Outcome(props: {
  state: CardState;
  part: ToolPart;
  data: ApprovalData | undefined;
  row: ApprovalView | undefined;
  output: unknown;
}) {
  const { state, part, data, row, output } = props;
  const { t } = useWords();
  const errorText = row?.errorText ?? data?.errorText ?? part.errorText;
  // AI SDK's part gives a withdrawn call a reason that says only that it was withdrawn.
  const ofPart = state === "cancelled" ? undefined : (part.approval as { reason?: string } | undefined)?.reason;
  const reason = row?.reason ?? data?.reason ?? ofPart;
  const transaction = (output as { transaction_id?: unknown } | null | undefined)?.transaction_id;
  const isResolved = row?.resolvedBy !== undefined;

  const shown = [
    { when: state === "waiting", label: t.status, text: interimText(row?.interim ?? data?.interim) },
    { when: state === "done" && isResolved, label: t.result, text: resolvedText(output) },
    { when: state === "done", label: t.transaction, text: transaction },
    { when: state === "failed" && !isResolved, label: t.error, text: errorText },
    { when: ["denied", "cancelled"].includes(state) || isResolved, label: t.reason, text: reason },
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

/** What a person wrote about a call that happened, or a summary of the JSON. */
function resolvedText(output: unknown): string {
  const { result } = Object(output ?? {}) as { result?: unknown };
  return typeof result === "string" ? result : outputSummary(output);
}
