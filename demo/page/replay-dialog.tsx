import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { pointInTime } from "./format.ts";
import { MessageView } from "./message-view.tsx";
import { useWords } from "./preferences.ts";
import { logToEntries, type ReadLog } from "./read-log.ts";
import { readOnlyChat } from "./read-only-chat.ts";
import { createReplay } from "./replay.ts";
import { StreamLines } from "./stream-lines.tsx";
import { streamRows } from "./stream-rows.ts";
import { useStickToEnd } from "./use-stick-to-end.ts";

export interface ReplayDialogProps {
  log: Extract<ReadLog, { lines: unknown }>;
  onClose: () => void;
}

const speeds = [1, 2, 4, 10];
const nearEndPx = 80;
/** How many lines are drawn beside the messages. */
const shownLines = 300;

/** Plays a downloaded log over the whole page. A disabled fieldset holds the messages: no button in them does anything. */
export function ReplayDialog({ log, onClose }: ReplayDialogProps) {
  const { t, language } = useWords();
  const words = t.panel.player;
  const dialog = useRef<HTMLDialogElement>(null);
  const [replay] = useState(() => createReplay(log.lines));
  const state = useSyncExternalStore(replay.subscribe, replay.state);
  const { messages, position, at, isPlaying } = state;
  // Countdowns run by the clock of the recording.
  const [offset, setOffset] = useState(0);
  useEffect(() => setOffset(at - Date.now()), [at]);
  const chat = useMemo(() => readOnlyChat(messages, offset), [messages, offset]);
  const rows = useMemo(
    () => streamRows(logToEntries(log.lines.slice(Math.max(0, position - shownLines), position)), { fold: true }),
    [log, position],
  );
  const { box, onScroll } = useStickToEnd<HTMLDivElement>(chat, nearEndPx);

  useEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
    replay.play();
    return () => replay.pause();
  }, [replay]);

  return (
    <dialog ref={dialog} className="replay" aria-labelledby="replay-title" onClose={onClose}>
      <header className="replay-head">
        <h2 id="replay-title">
          <span className="tag-replay">{words.title}</span> <bdi>{log.chat}</bdi>
        </h2>
        <span className="muted small">{pointInTime(at, language)}</span>
        <span className="grow" />
        <button type="button" className="button button-small" onClick={() => dialog.current?.close()}>
          {words.close}
        </button>
      </header>
      <p className="replay-notice">
        {words.notice}
        {log.skipped > 0 && ` ${words.skipped(log.skipped)}`}
      </p>
      <div className="replay-body">
        <div className="messages" ref={box} onScroll={onScroll} role="region" aria-label={words.messages} tabIndex={0}>
          <fieldset disabled className="column replay-messages">
            <legend className="visually-hidden">{words.messages}</legend>
            {chat.messages.map((message) => (
              <MessageView key={message.id} message={message} chat={chat} />
            ))}
          </fieldset>
        </div>
        <div className="replay-stream stream">
          <StreamLines rows={rows} lit={undefined} />
        </div>
      </div>
      <div className="replay-controls">
        <button
          type="button"
          className="button button-primary"
          onClick={() => (isPlaying ? replay.pause() : replay.play())}
        >
          {isPlaying ? words.pause : words.play}
        </button>
        <button type="button" className="button" onClick={() => replay.seek(0)}>
          {words.again}
        </button>
        <input
          type="range"
          aria-label={words.position}
          min={0}
          max={replay.length}
          value={position}
          onChange={(event) => replay.seek(Number(event.target.value))}
        />
        <span className="muted small replay-count">
          {position} / {replay.length}
        </span>
        <label className="check">
          {words.speed}{" "}
          <select value={state.speed} onChange={(event) => replay.setSpeed(Number(event.target.value))}>
            {speeds.map((speed) => (
              <option key={speed} value={speed}>
                ×{speed}
              </option>
            ))}
          </select>
        </label>
      </div>
    </dialog>
  );
}
