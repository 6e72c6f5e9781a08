import type { ApprovalData, ApprovalView } from "adk-stream-protocol/protocol";
import { getToolName, type DynamicToolUIPart, type ToolUIPart } from "ai";
import { useEffect, useId, useRef, useState, type FormEvent, type KeyboardEvent, type MouseEvent } from "react";
import type { CardState } from "./card-state.ts";
import { isClientTool } from "./client-tools.ts";
import { Countdown } from "./countdown.tsx";
import { clockTime, money } from "./format.ts";
import { JsonBlock } from "./json-block.tsx";
import { useWords } from "./preferences.ts";
import { isSecondClick } from "./second-click.ts";
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

/** One call that a person decides about: what exactly would run, and truthfully what has become of it. */
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
    // The buttons are about to go; the keyboard stays on the card.
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
      <Arguments input={input} />
      <Outcome state={state} part={part} data={data} row={row} output={output} />
      {state === "waiting" && <Decide onAnswer={answer} {...expiryOf(data, row)} clockOffset={props.clockOffset} />}
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

/** What was said about the call when it was made, in the model's words or the tool's. */
function hintOf(part: ToolPart, row: ApprovalView | undefined): string | undefined {
  const approval = part.approval as { descriptor?: unknown; requestReason?: string } | undefined;
  const described = (approval?.descriptor as { hint?: unknown } | undefined)?.hint;
  return row?.hint ?? (typeof described === "string" ? described : approval?.requestReason);
}

/** It may be wrong or lie, so it is marked as the assistant's and never mixed with the arguments. */
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
  return <p className="card-note">{facts.join(" · ")}</p>;
}

/** How much and to whom come first; the rest as it is stored. */
function placeOf(name: string): number {
  return name === "amount" ? 0 : name === "recipient" ? 1 : 2;
}

/** Every stored argument, as text, whole. */
function Arguments({ input }: { input: unknown }) {
  const { t, language } = useWords();
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    return input === undefined ? null : <JsonBlock value={input} label={t.arguments} />;
  }
  const fields = input as Record<string, unknown>;
  const names = Object.keys(fields).toSorted((a, b) => placeOf(a) - placeOf(b));
  if (names.length === 0) return null;
  return (
    <dl className="fields">
      {names.map((name) => {
        const sum = name === "amount" ? money(fields[name], fields["currency"] ?? "USD", language) : undefined;
        return (
          <div key={name} className={sum ? "field field-sum" : "field"}>
            <dt>
              <VisibleText text={name} />
            </dt>
            <dd>{sum ?? <Value value={fields[name]} label={name} />}</dd>
          </div>
        );
      })}
    </dl>
  );
}

function Value({ value, label }: { value: unknown; label: string }) {
  const { t } = useWords();
  if (value === "") return <span className="muted">{t.empty}</span>;
  if (typeof value === "string") return <VisibleText text={value} />;
  if (typeof value === "object" && value !== null) return <JsonBlock value={value} label={label} />;
  return <>{String(value)}</>;
}

/** What came of it, in the server's or the tool's words. */
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

  const said = [
    { when: state === "done", label: t.transaction, text: transaction },
    { when: state === "failed", label: t.error, text: errorText },
    { when: state === "denied" || state === "cancelled", label: t.reason, text: reason },
  ].find(({ when, text }) => when && typeof text === "string" && text !== "");
  if (!said) return null;
  return (
    <dl className="fields">
      <div className="field field-outcome">
        <dt>{said.label}</dt>
        <dd>
          <VisibleText text={String(said.text)} />
        </dd>
      </div>
    </dl>
  );
}

function Decide(props: {
  onAnswer: (approved: boolean, reason?: string) => void;
  createdAt: number | undefined;
  expiresAt: number | undefined;
  clockOffset: number;
}) {
  const { t } = useWords();
  const [denying, setDenying] = useState(false);
  const [reason, setReason] = useState("");
  const [isTooSoon, setTooSoon] = useState(true);
  const denyButton = useRef<HTMLButtonElement>(null);
  const reasonId = useId();

  useEffect(() => {
    const timer = setTimeout(() => setTooSoon(false), tooSoonMs);
    return () => clearTimeout(timer);
  }, []);
  /** Does it unless the click was meant for what was here before. */
  const meant = (act: () => void) => (event: MouseEvent) => {
    if (isTooSoon || isSecondClick(event)) event.preventDefault();
    else act();
  };

  const close = () => {
    setDenying(false);
    // After the form has gone, back to where it was opened.
    requestAnimationFrame(() => denyButton.current?.focus());
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    props.onAnswer(false, reason.trim());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing || event.keyCode === 229) {
      // Enter that accepts a conversion is not an answer.
      if (event.key === "Enter") event.preventDefault();
      return;
    }
    // The Enter that opened the form may still be held down.
    if (event.key === "Enter" && event.repeat) event.preventDefault();
    if (event.key === "Escape") close();
  };

  return (
    <>
      {denying && (
        <form className="deny" onSubmit={submit}>
          <label htmlFor={reasonId}>{t.reasonLabel}</label>
          <div className="deny-row">
            <input
              id={reasonId}
              className="input"
              value={reason}
              maxLength={2000}
              placeholder={t.reasonPlaceholder}
              autoComplete="off"
              ref={focusOnce}
              onChange={(event) => setReason(event.target.value)}
              onKeyDown={onKeyDown}
            />
            <button type="submit" className="button button-danger" onClick={meant(() => undefined)}>
              {t.denyNow}
            </button>
            <button type="button" className="button button-quiet" onClick={meant(close)}>
              {t.back}
            </button>
          </div>
        </form>
      )}
      <div className="card-actions">
        {!denying && (
          <>
            <button
              type="button"
              className="button"
              ref={denyButton}
              aria-disabled={isTooSoon}
              onClick={meant(() => setDenying(true))}
            >
              {t.deny}
            </button>
            <button
              type="button"
              className="button button-primary"
              aria-disabled={isTooSoon}
              onClick={meant(() => props.onAnswer(true))}
            >
              {t.approve}
            </button>
          </>
        )}
        {props.expiresAt !== undefined && (
          <Countdown createdAt={props.createdAt} expiresAt={props.expiresAt} clockOffset={props.clockOffset} />
        )}
      </div>
    </>
  );
}

/**
 * A card can appear under a pointer, or a key, that is on its way to something else. Until somebody can have seen it, it
 * takes no answer.
 */
const tooSoonMs = 500;

const focusOnce = (input: HTMLInputElement | null) => input?.focus();
