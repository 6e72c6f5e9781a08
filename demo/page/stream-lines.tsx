import { JsonBlock } from "adk-stream-protocol/react";
import { memo, useState } from "react";
import { useWords } from "./preferences.ts";
import { foldedText, rowDetail, type StreamRow } from "./stream-rows.ts";
import type { Strings } from "./strings.ts";
import { findCard } from "./use-highlight.ts";
import { useStickToEnd } from "./use-stick-to-end.ts";

const nearEndPx = 24;

/** The lines of a stream. Shows the newest line until the reader scrolls up. */
export function StreamLines({ rows, lit }: { rows: readonly StreamRow[]; lit: string | undefined }) {
  const { t } = useWords();
  const { box, atEnd, onScroll, goToEnd } = useStickToEnd<HTMLDivElement>(rows, nearEndPx);
  return (
    <div className="stream-box">
      <div className="stream-list" ref={box} onScroll={onScroll} role="group" aria-label={t.stream} tabIndex={0}>
        {rows.map((row) => (
          <Line key={row.key} row={row} isLit={lit !== undefined && row.approvalId === lit} />
        ))}
      </div>
      {!atEnd && (
        <button type="button" className="newest" onClick={goToEnd}>
          ↓ {t.newest}
        </button>
      )}
    </div>
  );
}

interface LineProps {
  row: StreamRow;
  isLit: boolean;
}

/** One line, which opens to show everything. Drawn again only if it has changed: there may be hundreds. */
const Line = memo(
  function Line({ row, isLit }: LineProps) {
    const { t } = useWords();
    const { entry, entries, approvalId, sinceMs } = row;
    const [isOpen, setOpen] = useState(false);
    const names = ["line", `line-${toneOf(row)}`, ...(isLit ? ["line-lit"] : [])];
    return (
      <details
        className="line-details"
        data-line-of={approvalId}
        onToggle={(event) => setOpen(event.currentTarget.open)}
      >
        <summary className={names.join(" ")} data-since={sinceMs === undefined ? undefined : timeOf(sinceMs)}>
          {entry.kind === "chunk" ? (
            <>
              <span className="line-number">{entry.sequence ?? ""}</span>
              <span className="line-type">{entry.type}</span>
              {entries.length > 1 && <span className="line-count">×{entries.length}</span>}{" "}
              <Rest text={entries.length > 1 ? foldedText(entries) : restOf(entry.chunk)} />
            </>
          ) : (
            <>
              {titleOf(row, t)} {entry.kind === "begin" && <Rest text={textOf(entry.message)} />}
            </>
          )}
        </summary>
        {isOpen && <JsonBlock value={rowDetail(row)} label={entry.kind === "chunk" ? entry.type : entry.kind} />}
        {isOpen && approvalId !== undefined && (
          <button type="button" className="link-button line-card" onClick={() => showCard(approvalId)}>
            {t.panel.showCard}
          </button>
        )}
      </details>
    );
  },
  (before, after) =>
    before.isLit === after.isLit &&
    before.row.entry === after.row.entry &&
    before.row.entries.length === after.row.entries.length &&
    before.row.approvalId === after.row.approvalId &&
    before.row.sinceMs === after.row.sinceMs,
);

/** The rest of a line is generated content: the words of the conversation are in the page's text only once. */
function Rest({ text }: { text: string }) {
  return <span className="line-rest" data-rest={text.slice(0, 300)} />;
}

function showCard(approvalId: string): void {
  const card = findCard(approvalId);
  card?.scrollIntoView({ block: "start" });
  card?.focus({ preventScroll: true });
}

function titleOf({ entry }: StreamRow, t: Strings): string {
  switch (entry.kind) {
    case "request":
      return `→ ${entry.method} ${entry.method === "GET" ? t.streamResumed : entry.path}`;
    case "frame":
      return `→ ${entry.type}`;
    case "socket":
      return entry.event === "lost" ? `× WS /live ${t.streamLost}` : `⇄ WS /live ${t.streamConnected}`;
    case "parked":
      return t.streamParked;
    case "done":
      return "[DONE]";
    case "begin":
      return `${entry.sequence} ${t.panel.begins}`;
    case "withdraw":
      return `${entry.sequence} ${t.panel.withdrawn}`;
    case "chunk":
      return entry.type;
  }
}

/** The words of a user's message. */
function textOf(message: unknown): string {
  const { parts } = Object(message ?? {}) as { parts?: { type?: unknown; text?: unknown }[] };
  return (parts ?? []).flatMap(({ text }) => (typeof text === "string" ? [text] : [])).join(" ");
}

function timeOf(ms: number): string {
  return ms < 1000 ? `+${ms} ms` : `+${(ms / 1000).toFixed(1)} s`;
}

function toneOf({ entry }: StreamRow): string {
  if (entry.kind === "socket" && entry.event === "lost") return "lost";
  if (entry.kind === "done" || entry.kind === "parked") return "done";
  if (entry.kind !== "chunk") return "request";
  const { type } = entry;
  if (type.startsWith("text-") || type.startsWith("reasoning-")) return "text";
  if (type.includes("approval")) return "approval";
  if (type === "tool-output-available") return "output";
  return type === "error" || type === "tool-output-error" || type === "tool-output-denied" ? "error" : "plain";
}

/** The most important field of a chunk, in one line. The whole chunk opens below it. */
function restOf(chunk: Record<string, unknown>): string {
  if (chunk["type"] === "data-approval") return String((chunk["data"] as { state?: unknown } | undefined)?.state);
  const content =
    chunk["delta"] ?? chunk["errorText"] ?? chunk["output"] ?? chunk["input"] ?? chunk["data"] ?? chunk["toolName"];
  const value = content ?? chunk["messageId"] ?? chunk["approvalId"] ?? chunk["finishReason"] ?? "";
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
