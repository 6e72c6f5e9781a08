import { callWords, VisibleText } from "adk-stream-protocol/react";
import { useEffect, useRef, useState } from "react";
import type { Mode } from "./mode.ts";
import type { Trial } from "./panel-strings.ts";
import { useWords } from "./preferences.ts";
import { runTrial } from "./trials.ts";
import type { PageChat } from "./use-page-chat.ts";

export interface BreakItProps {
  chatId: string;
  mode: Mode;
  debug: boolean;
  chat: PageChat;
}

const trials: readonly Trial[] = ["double", "tab", "cut", "restart", "expire"];

/** What usually goes wrong, one click each, with what happened beside it in the words of the server's ledger. */
export function BreakIt({ chatId, mode, debug, chat }: BreakItProps) {
  const { t, language } = useWords();
  const words = t.panel.breakIt;
  const [told, setTold] = useState<Partial<Record<Trial, readonly string[]>>>({});
  const [running, setRunning] = useState<ReadonlySet<Trial>>(new Set());
  const isGone = useRef(false);
  useEffect(() => {
    isGone.current = false;
    return () => void (isGone.current = true);
  }, []);
  const waiting = chat.ledger.approvals.find(({ state }) => state === "pending");

  const reasonAgainst = (trial: Trial): string | undefined => {
    if (trial === "double" && !waiting) return words.needsQuestion;
    if ((trial === "cut" || trial === "restart") && !debug) return words.off;
    if (trial === "expire" && waiting && mode === "sse") return t.panel.samplesWait;
    return undefined;
  };
  const run = async (trial: Trial) => {
    const change = (name: Trial, isRunning: boolean) =>
      setRunning((before) => new Set([...before].filter((one) => one !== name).concat(isRunning ? [name] : [])));
    const tell = (line: string) => {
      if (!isGone.current) setTold((before) => ({ ...before, [trial]: [...(before[trial] ?? []), line] }));
    };
    change(trial, true);
    setTold((before) => ({ ...before, [trial]: [] }));
    const { send } = chat;
    const expiringSentence = t.panel.samples.expiring.sentence;
    await runTrial(trial, { chatId, words, language, waiting, send, expiringSentence, tell }).catch(() =>
      tell(t.offline),
    );
    if (isGone.current) return;
    change(trial, false);
    chat.ledger.refresh();
  };

  return (
    <details className="fold break-it">
      <summary>
        <h2>{words.title}</h2>
      </summary>
      <p className="muted small">{words.text}</p>
      {waiting && (
        <p className="small">
          <VisibleText
            text={words.waits(`${waiting.toolName} ${callWords(waiting.input, waiting.card?.fields, language)}`)}
          />
        </p>
      )}
      <ul className="trials">
        {trials.map((trial) => {
          const reason = reasonAgainst(trial);
          const isRunning = running.has(trial);
          const isBlocked = isRunning || reason !== undefined || (trial === "expire" && chat.isBusy);
          return (
            <li key={trial} data-trial={trial}>
              <div className="trial-head">
                <button
                  type="button"
                  className="button button-small"
                  disabled={isBlocked}
                  onClick={() => void run(trial)}
                >
                  {words.trials[trial].name}
                </button>
                <span className="small muted">{reason ?? words.trials[trial].text}</span>
              </div>
              <div role="status">
                <ul className="trial-told" aria-label={words.trials[trial].name}>
                  {told[trial]?.map((line, index) => (
                    <li key={index}>
                      <VisibleText text={line} />
                    </li>
                  ))}
                  {isRunning && <li className="muted">{words.running}</li>}
                </ul>
              </div>
            </li>
          );
        })}
      </ul>
    </details>
  );
}
