import type { UIMessage } from "ai";
import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { Announcer } from "./announcer.tsx";
import type { Health } from "./api.ts";
import { ApprovalTrack } from "./approval-track.tsx";
import { BreakIt } from "./break-it.tsx";
import { Composer } from "./composer.tsx";
import { errorSentence, isDisconnect } from "./error-sentence.ts";
import { money } from "./format.ts";
import { ModelName } from "./header.tsx";
import { Inspector } from "./inspector.tsx";
import { isBusy } from "./is-busy.ts";
import { MessageView } from "./message-view.tsx";
import type { Mode } from "./mode.ts";
import type { Music } from "./music.ts";
import { useWords } from "./preferences.ts";
import { isSecondClick } from "./second-click.ts";
import { Samples } from "./samples.tsx";
import type { StreamTap } from "./stream-tap.ts";
import { useBridgeChat, type BridgeChat } from "./use-bridge-chat.ts";
import { useStickToEnd } from "./use-stick-to-end.ts";
import { WalletPanel } from "./wallet-panel.tsx";
import type { Wires } from "./wires.ts";

export interface ConversationProps {
  chatId: string;
  initialMessages: UIMessage[];
  tap: StreamTap;
  wires: Wires;
  mode: Mode;
  music: Music;
  health: Health | undefined;
  onBusy: (busy: boolean) => void;
}

/** One chat: the conversation on the left, the server's data on the right (on a phone, one at a time). */
export function Conversation(props: ConversationProps) {
  const { chatId, initialMessages, tap, wires, mode, music, health, onBusy } = props;
  const { t, language } = useWords();
  const bridge = useBridgeChat({ chatId, initialMessages, tap, wires, mode, music });
  const [view, setView] = useState<"chat" | "panel">("chat");
  const all = [...bridge.cards.values()];
  const pending = all.filter(({ state }) => state === "asked").map(({ approvalId }) => approvalId);
  const asked = pending.length;
  const { approvals, wallet } = bridge.ledger;

  useEffect(() => {
    document.title = asked > 0 ? `(${asked}) adk-stream-protocol` : "adk-stream-protocol";
  }, [asked]);
  const busy = isBusy(bridge.status);
  useEffect(() => {
    onBusy(busy);
    return () => onBusy(false);
  }, [busy, onBusy]);

  return (
    <>
      <nav className="views" aria-label={t.views}>
        <button type="button" aria-pressed={view === "chat"} onClick={() => setView("chat")}>
          {t.chatTab}
          {asked > 0 && <span className="badge">{asked}</span>}
        </button>
        <button type="button" aria-pressed={view === "panel"} onClick={() => setView("panel")}>
          {t.panelTab}
          {wallet && <span className="views-balance">{money(wallet.balance, wallet.currency, language)}</span>}
        </button>
      </nav>
      <main data-view={view}>
        <div className="chat">
          <Messages bridge={bridge} />
          <div className="dock">
            <div className="column">
              <Notices bridge={bridge} />
              <NowPlaying music={music} />
              <Suggestions large={false} hidden={bridge.messages.length === 0} bridge={bridge} />
              <Composer
                busy={busy}
                failed={bridge.status === "error"}
                answering={bridge.isAtWork || all.some(({ state }) => state === "sending")}
                pending={pending}
                mode={mode}
                onSend={bridge.send}
                onStop={bridge.stop}
              />
            </div>
          </div>
        </div>
        <aside aria-label={t.panelLabel} tabIndex={0}>
          <section aria-labelledby="approvals-title">
            <h2 id="approvals-title">{t.approvals}</h2>
            {approvals.length === 0 ? (
              <p className="muted small">{t.noApprovals}</p>
            ) : (
              <ul className="tracks">
                {approvals.map((row) => (
                  <ApprovalTrack key={row.id} row={row} />
                ))}
              </ul>
            )}
          </section>
          <WalletPanel wallet={wallet} onReset={bridge.ledger.refresh} />
          <Samples mode={mode} bridge={bridge} />
          <BreakIt chatId={chatId} mode={mode} debug={health?.debug === true} bridge={bridge} />
          <Inspector
            {...{ tap, chatId, mode }}
            debug={health?.debug === true}
            hasHistory={initialMessages.length > 0}
            sequence={bridge.ledger.sequence}
          />
          <p className="panel-foot">
            <ModelName health={health} mode={mode} />
            <span>AI SDK {__AI_MAJOR__}</span>
          </p>
        </aside>
      </main>
      <Announcer cards={bridge.cards} status={bridge.status} wires={wires} />
    </>
  );
}

const nearEndPx = 80;

/** Whether the reply's text is growing. If it is, the page needs no other sign that something happens. */
function isSpeaking(message: UIMessage | undefined): boolean {
  const part = message?.role === "assistant" ? message.parts.at(-1) : undefined;
  return part?.type === "text" && part.state === "streaming" && part.text !== "";
}

function Messages({ bridge }: { bridge: BridgeChat }) {
  const { t } = useWords();
  const { messages, cards } = bridge;
  const content = useMemo(() => ({ messages, cards }), [messages, cards]);
  const { box, onScroll, goToEnd } = useStickToEnd<HTMLDivElement>(content, nearEndPx);
  const count = messages.length;
  const lastRole = messages.at(-1)?.role;
  // A person who sends a message wants to see the reply, even after scrolling up.
  useEffect(() => {
    if (lastRole === "user") goToEnd();
  }, [count, lastRole, goToEnd]);

  return (
    <div className="messages" ref={box} onScroll={onScroll} role="region" aria-label={t.conversation} tabIndex={0}>
      <div className="column">
        {count === 0 && (
          <div className="welcome">
            <svg className="welcome-mark" viewBox="0 0 120 34" aria-hidden="true">
              <path className="rail" d="M8 17h104" />
              <path className="rail-done" d="M8 17h36" />
              <circle className="dot-done" cx="8" cy="17" r="6" />
              <circle className="dot-wait" cx="44" cy="17" r="9" />
              <circle className="dot-next" cx="80" cy="17" r="5" />
              <circle className="dot-next" cx="112" cy="17" r="5" />
            </svg>
            <h2>{t.emptyTitle}</h2>
            <p>{t.emptyText}</p>
            <Suggestions large hidden={false} bridge={bridge} />
          </div>
        )}
        {messages.map((message) => (
          <MessageView key={message.id} message={message} bridge={bridge} />
        ))}
        {isBusy(bridge.status) && !isSpeaking(messages.at(-1)) && (
          <p className="thinking" data-testid="thinking">
            <span className="visually-hidden">{t.thinking}</span>
            <span aria-hidden="true" />
            <span aria-hidden="true" />
            <span aria-hidden="true" />
          </p>
        )}
      </div>
    </div>
  );
}

function Suggestions({ bridge, hidden, large }: { bridge: BridgeChat; hidden: boolean; large: boolean }) {
  const { t } = useWords();
  if (hidden) return null;
  return (
    <ul className={large ? "chips chips-large" : "chips"} aria-label={t.suggestionsLabel}>
      {t.suggestions.map((text) => (
        <li key={text}>
          <button
            type="button"
            aria-disabled={isBusy(bridge.status)}
            onClick={(event) => !isSecondClick(event) && !isBusy(bridge.status) && bridge.send(text)}
          >
            {text}
          </button>
        </li>
      ))}
    </ul>
  );
}

/** Shows one error at a time. If an answer was lost, its card says so and this shows nothing. */
function Notices({ bridge }: { bridge: BridgeChat }) {
  const { t } = useWords();
  const { error, ledger } = bridge;
  const lost = isDisconnect(error);
  const onCard = [...bridge.cards.values()].some((card) => card.state === "undelivered");
  if (ledger.signedOut) {
    return (
      <div className="notice notice-error" role="alert">
        <p>{t.signedOut}</p>
      </div>
    );
  }
  if (ledger.offline && !onCard) {
    return (
      <div className="notice notice-offline" role="alert">
        <span className="spinner" aria-hidden="true" />
        <p>{t.offline}</p>
      </div>
    );
  }
  if (!error || (lost && onCard && bridge.messages.at(-1)?.role !== "user")) return null;
  return (
    <div className="notice notice-error" role="alert">
      <div>
        <p className="notice-title">{t.errorTitle}</p>
        <p className="outside">{lost ? t.connectionLost : errorSentence(error)}</p>
      </div>
      <div className="notice-actions">
        <button type="button" className="button button-small" onClick={bridge.retry}>
          {t.retry}
        </button>
        <button type="button" className="button button-small button-quiet" onClick={bridge.dismiss}>
          {t.dismiss}
        </button>
      </div>
    </div>
  );
}

function NowPlaying({ music }: { music: Music }) {
  const { t } = useWords();
  const { track, audible } = useSyncExternalStore(music.subscribe, music.state);
  if (track === undefined) return null;
  return (
    <div className="playing" data-testid="now-playing" data-track={track}>
      <span className={audible ? "bars" : "bars bars-still"} aria-hidden="true">
        <i />
        <i />
        <i />
      </span>
      <span>{audible ? t.nowPlaying(track) : t.silent(track)}</span>
      <button type="button" onClick={() => music.stop()} aria-label={t.stopMusic}>
        <span className="stop-square" aria-hidden="true" />
      </button>
    </div>
  );
}
