import { useRef, useState, type ChangeEvent } from "react";
import { createPortal } from "react-dom";
import { fetchLogFile } from "./debug-api.ts";
import { useWords } from "./preferences.ts";
import { maxLogBytes, readLog, type ReadLog } from "./read-log.ts";
import { ReplayDialog } from "./replay-dialog.tsx";
import { rowDetail, type StreamRow } from "./stream-rows.ts";

export interface InspectorActionsProps {
  rows: readonly StreamRow[];
  chatId: string;
  debug: boolean;
}

/** Copies the lines, downloads the log, and replays a log from a file. */
export function InspectorActions({ rows, chatId, debug }: InspectorActionsProps) {
  const { t } = useWords();
  const words = t.panel;
  const picker = useRef<HTMLInputElement>(null);
  const [told, setTold] = useState("");
  const [log, setLog] = useState<Extract<ReadLog, { lines: unknown }>>();

  const copy = () => {
    const lines = rows.map((row) => JSON.stringify(rowDetail(row))).join("\n");
    // `clipboard` is missing if the page was not loaded over a safe connection.
    const clipboard: Clipboard | undefined = navigator.clipboard;
    Promise.resolve(clipboard?.writeText(lines) ?? Promise.reject(new Error("There is no clipboard."))).then(
      () => setTold(words.copied),
      () => setTold(words.notCopied),
    );
  };
  const download = () => {
    setTold("");
    fetchLogFile(chatId).then(
      (file) => saveAs(file, `chat-${chatId.slice(0, 40)}.jsonl`),
      () => setTold(words.notDownloaded),
    );
  };
  const open = async (event: ChangeEvent<HTMLInputElement>) => {
    const file = event.target.files?.[0];
    // The same file can be chosen again.
    event.target.value = "";
    if (!file) return;
    setTold("");
    const read: ReadLog = file.size > maxLogBytes ? { error: "large" } : readLog(await file.text().catch(() => ""));
    if ("error" in read) setTold(words.player.unreadable(words.logErrors[read.error]));
    else setLog(read);
  };

  return (
    <>
      <div className="stream-actions">
        <button type="button" className="button button-small" disabled={rows.length === 0} onClick={copy}>
          {words.copy}
        </button>
        {debug && (
          <button type="button" className="button button-small" onClick={download}>
            {words.download}
          </button>
        )}
        <button type="button" className="button button-small" onClick={() => picker.current?.click()}>
          {words.replay}
        </button>
        <input
          ref={picker}
          type="file"
          accept=".jsonl,application/jsonl"
          hidden
          data-testid="log-file"
          onChange={(event) => void open(event)}
        />
      </div>
      <p className="small stream-told" role="status">
        {told}
      </p>
      {/* Outside the panel, whose styles are not for a conversation. */}
      {log && createPortal(<ReplayDialog log={log} onClose={() => setLog(undefined)} />, document.body)}
    </>
  );
}

function saveAs(file: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name.replaceAll(/[^\w.-]/g, "_");
  link.click();
  // The browser has begun to read it; the address is not needed for longer.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
