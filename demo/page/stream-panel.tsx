import { useSyncExternalStore } from "react";
import { JsonBlock } from "./json-block.tsx";
import { useWords } from "./preferences.ts";
import type { StreamTap, TapEntry } from "./stream-tap.ts";
import { useStickToEnd } from "./use-stick-to-end.ts";

const nearEndPx = 24;

/** The raw chunks and frames as they arrive. Shows the newest line until the reader scrolls up. */
export function StreamPanel({ tap }: { tap: StreamTap }) {
  const { t } = useWords();
  const entries = useSyncExternalStore(tap.subscribe, tap.entries);
  return (
    <section className="stream" aria-labelledby="stream-title">
      <h2 id="stream-title">{t.stream}</h2>
      {entries.length === 0 ? <p className="muted small">{t.streamEmpty}</p> : <Lines entries={entries} />}
    </section>
  );
}

function Lines({ entries }: { entries: readonly TapEntry[] }) {
  const { t } = useWords();
  const { box, atEnd, onScroll, goToEnd } = useStickToEnd<HTMLDivElement>(entries, nearEndPx);
  return (
    <div className="stream-box">
      <div className="stream-list" ref={box} onScroll={onScroll} role="group" aria-label={t.stream} tabIndex={0}>
        {entries.map((entry) => (
          <Line key={entry.key} entry={entry} />
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

function Line({ entry }: { entry: TapEntry }) {
  const { t } = useWords();
  if (entry.kind === "request") {
    return (
      <div className="line line-request">
        → {entry.method} {entry.method === "GET" ? t.streamResumed : entry.path}
      </div>
    );
  }
  if (entry.kind === "frame") return <div className="line line-request">→ {entry.type}</div>;
  if (entry.kind === "socket") {
    const lost = entry.event === "lost";
    return (
      <div className={lost ? "line line-lost" : "line line-request"}>
        {lost ? "×" : "⇄"} WS /live {lost ? t.streamLost : t.streamConnected}
      </div>
    );
  }
  if (entry.kind === "parked") return <div className="line line-done">{t.streamParked}</div>;
  if (entry.kind === "done") return <div className="line line-done">[DONE]</div>;
  return (
    <details className="line-details">
      <summary className={`line line-${toneOf(entry.type)}`}>
        <span className="line-number">{entry.sequence ?? ""}</span>
        <span className="line-type">{entry.type}</span> <span className="line-rest">{restOf(entry.chunk)}</span>
      </summary>
      <JsonBlock value={entry.chunk} label={entry.type} />
    </details>
  );
}

function toneOf(type: string): string {
  if (type.startsWith("text-") || type.startsWith("reasoning-")) return "text";
  if (type.includes("approval")) return "approval";
  if (type === "tool-output-available") return "output";
  if (type === "error" || type === "tool-output-error" || type === "tool-output-denied") return "error";
  return "plain";
}

/** The most important field of a chunk, in one line. The whole chunk opens below it. */
function restOf(chunk: Record<string, unknown>): string {
  if (chunk["type"] === "data-approval") return String((chunk["data"] as { state?: unknown } | undefined)?.state);
  const content =
    chunk["delta"] ?? chunk["errorText"] ?? chunk["output"] ?? chunk["input"] ?? chunk["data"] ?? chunk["toolName"];
  const value = content ?? chunk["messageId"] ?? chunk["approvalId"] ?? chunk["finishReason"] ?? "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
