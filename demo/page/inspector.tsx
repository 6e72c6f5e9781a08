import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { fetchLogEnd } from "./debug-api.ts";
import { InspectorActions } from "./inspector-actions.tsx";
import type { Mode } from "./mode.ts";
import { ModelView } from "./model-view.tsx";
import { useWords } from "./preferences.ts";
import { logToEntries } from "./read-log.ts";
import { StreamLines } from "./stream-lines.tsx";
import { type RowKind, streamRows } from "./stream-rows.ts";
import type { StreamTap, TapEntry } from "./stream-tap.ts";
import { useHighlight } from "./use-highlight.ts";

export interface InspectorProps {
  tap: StreamTap;
  chatId: string;
  mode: Mode;
  /** Whether the server shows its log. */
  debug: boolean;
  /** Whether the chat had messages when the page was loaded. */
  hasHistory: boolean;
  /** The last sequence number of the chat's log. */
  sequence: number;
}

/** How many entries of the log are shown after a reload. */
const historyLength = 400;
const filters = ["all", "text", "tools", "approvals", "wire"] as const;

/** The raw chunks and frames as they arrive, those before a reload, and what the model was asked. */
export function Inspector({ tap, chatId, mode, debug, hasHistory, sequence }: InspectorProps) {
  const { t } = useWords();
  const words = t.panel;
  const recorded = useSyncExternalStore(tap.subscribe, tap.entries);
  const history = useHistory(chatId, debug && hasHistory);
  const lit = useHighlight();
  const [tab, setTab] = useState<"stream" | "model">("stream");
  const [filter, setFilter] = useState<RowKind | "all">("all");
  const [fold, setFold] = useState(true);
  const rows = useMemo(() => streamRows(join(history, recorded), { fold }), [history, recorded, fold]);
  const shown = useMemo(() => rows.filter(({ kind }) => filter === "all" || kind === filter), [rows, filter]);

  return (
    <section className="stream" aria-labelledby="stream-title">
      <div className="stream-head">
        <h2 id="stream-title">{t.stream}</h2>
        {debug && (
          <div className="segments" role="group" aria-label={words.tabsLabel}>
            {(["stream", "model"] as const).map((one) => (
              <button key={one} type="button" aria-pressed={tab === one} onClick={() => setTab(one)}>
                {words.tabs[one]}
              </button>
            ))}
          </div>
        )}
      </div>
      {tab === "model" ? (
        <ModelView chatId={chatId} mode={mode} version={sequence} />
      ) : rows.length === 0 ? (
        <p className="muted small">{t.streamEmpty}</p>
      ) : (
        <>
          <div className="stream-tools">
            <div className="segments segments-filter" role="group" aria-label={words.filterLabel}>
              {filters.map((one) => (
                <button key={one} type="button" aria-pressed={filter === one} onClick={() => setFilter(one)}>
                  {words.filters[one]}
                </button>
              ))}
            </div>
            <label className="check">
              <input type="checkbox" checked={fold} onChange={(event) => setFold(event.target.checked)} /> {words.fold}
            </label>
          </div>
          {shown.length === 0 ? (
            <p className="muted small">{words.nothingMatches}</p>
          ) : (
            <StreamLines rows={shown} lit={lit} />
          )}
        </>
      )}
      <InspectorActions rows={shown} chatId={chatId} debug={debug} />
    </section>
  );
}

/** The end of the chat's log, read once when the page was loaded with a chat that exists. */
function useHistory(chatId: string, isWanted: boolean): readonly TapEntry[] {
  const [history, setHistory] = useState<readonly TapEntry[]>([]);
  useEffect(() => {
    if (!isWanted) return;
    let isOld = false;
    fetchLogEnd(chatId, historyLength).then(
      (lines) => !isOld && setHistory(logToEntries(lines)),
      // The inspector then begins with what arrives now.
      () => undefined,
    );
    return () => {
      isOld = true;
    };
  }, [chatId, isWanted]);
  return history;
}

/** The history, then what was recorded since. A reply that was running when the page was loaded is in both. */
function join(history: readonly TapEntry[], recorded: readonly TapEntry[]): readonly TapEntry[] {
  if (history.length === 0) return recorded;
  const seen = new Set(recorded.flatMap((entry) => (entry.kind === "chunk" ? [entry.sequence] : [])));
  return [...history.filter((entry) => !("sequence" in entry) || !seen.has(entry.sequence)), ...recorded];
}
