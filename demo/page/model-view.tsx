import { JsonBlock } from "adk-stream-protocol/react";
import { useCallback, useEffect, useState } from "react";
import { fetchModelSide, type ModelSide } from "./debug-api.ts";
import { clockTime } from "./format.ts";
import { modelRows, type ModelRow } from "./model-rows.ts";
import type { Mode } from "./mode.ts";
import { useWords } from "./preferences.ts";
import { useStickToEnd } from "./use-stick-to-end.ts";

const nearEndPx = 24;

/** What the model was asked and what it said, as the server has it. Read again when the conversation goes on. */
export function ModelView({
  chatId,
  mode,
  version,
}: {
  chatId: string;
  mode: Mode;
  /** Changes with the chat. */ version: number;
}) {
  const { t } = useWords();
  const words = t.panel.model;
  const [side, setSide] = useState<ModelSide | "failed">();
  const load = useCallback(() => {
    let isOld = false;
    fetchModelSide(chatId).then(
      (loaded) => !isOld && setSide(loaded),
      () => !isOld && setSide("failed"),
    );
    return () => {
      isOld = true;
    };
  }, [chatId]);
  useEffect(() => load(), [load, version]);

  if (side === undefined) return <p className="muted small">{t.loading}</p>;
  if (side === "failed")
    return (
      <p className="small">
        {words.failed}{" "}
        <button type="button" className="link-button" onClick={load}>
          {words.refresh}
        </button>
      </p>
    );
  const rows = modelRows(side);
  return (
    <>
      {mode === "bidi" && <p className="muted small model-note">{words.live}</p>}
      {side.node !== undefined && <p className="muted small model-note">{words.oneNode(side.node)}</p>}
      {rows.length === 0 ? <p className="muted small">{words.empty}</p> : <ModelLines rows={rows} />}
    </>
  );
}

/** Shows the newest line until the reader scrolls up. */
function ModelLines({ rows }: { rows: readonly ModelRow[] }) {
  const { t, language } = useWords();
  const { box, onScroll } = useStickToEnd<HTMLDivElement>(rows, nearEndPx);
  return (
    <div className="stream-box">
      <div
        className="stream-list"
        ref={box}
        onScroll={onScroll}
        role="group"
        aria-label={t.panel.tabs.model}
        tabIndex={0}
      >
        {rows.map((row) => (
          <details key={row.key} className="line-details">
            <summary className={`line line-${row.kind}`} data-since={clockTime(row.at, language)}>
              {row.kind === "asked" ? `→ ${t.panel.model.asked(row.contents, row.tools)}` : <Said row={row} />}
            </summary>
            <JsonBlock value={row.detail} label={row.kind} />
          </details>
        ))}
      </div>
    </div>
  );
}

function Said({ row }: { row: Extract<ModelRow, { kind: "event" }> }) {
  return (
    <>
      <span className="line-type">{row.author}</span> <span className="line-rest" data-rest={row.text} />
    </>
  );
}
