import type { UIMessage } from "ai";
import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { fetchHealth, fetchMessages, type Health } from "./api.ts";
import { chatIdOf, newChatId, withChatId } from "./chat-id.ts";
import { Conversation } from "./conversation.tsx";
import { Header } from "./header.tsx";
import { type Mode, modeOf, withMode } from "./mode.ts";
import { createMusic, type Music } from "./music.ts";
import { rememberMode, storedMode, usePreferences, useWords, WordsContext } from "./preferences.ts";
import { createStreamTap, type StreamTap } from "./stream-tap.ts";
import { strings } from "./strings.ts";
import { createWires, type Wires } from "./wires.ts";

/** A chat and the lines to it. */
interface Place {
  chatId: string;
  /** Made here a moment ago, so there is nothing to load. */
  isNew: boolean;
  tap: StreamTap;
  wires: Wires;
}

function placeOf(chatId: string, options: { isNew: boolean; mode: Mode }): Place {
  const tap = createStreamTap();
  return { chatId, isNew: options.isNew, tap, wires: createWires(chatId, { tap, mode: options.mode }) };
}

/** Chat and mode are in the address, so a reload, a second tab and the back button find them again. */
function placeFromAddress(): Place {
  const known = chatIdOf(location.href);
  const chatId = known ?? newChatId();
  const mode = modeOf(location.href) ?? storedMode() ?? "sse";
  history.replaceState(null, "", withMode(withChatId(location.href, chatId), mode));
  return placeOf(chatId, { isNew: known === undefined, mode });
}

export function App() {
  const preferences = usePreferences();
  const [place, setPlace] = useState(placeFromAddress);
  const [health, setHealth] = useState<Health>();
  const [music] = useState(createMusic);
  const words = useMemo(
    () => ({ t: strings[preferences.language], language: preferences.language }),
    [preferences.language],
  );

  useEffect(() => {
    fetchHealth().then(setHealth, () => undefined);
  }, []);
  useEffect(() => {
    const onPop = () => {
      // Another place in the same chat (a fragment) is no other place.
      if (chatIdOf(location.href) !== place.chatId) setPlace(placeFromAddress());
    };
    window.addEventListener("popstate", onPop);
    return () => window.removeEventListener("popstate", onPop);
  }, [place]);

  const { wires } = place;
  const mode = useSyncExternalStore(wires.subscribe, wires.mode);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    wires.connect();
    return () => wires.close();
  }, [wires]);

  const chooseMode = (next: Mode) => {
    history.replaceState(null, "", withMode(location.href, next));
    rememberMode(next);
    wires.choose(next);
    wires.connect();
  };
  const newChat = () => {
    const chatId = newChatId();
    history.pushState(null, "", withChatId(location.href, chatId));
    setPlace(placeOf(chatId, { isNew: true, mode }));
  };

  return (
    <WordsContext value={words}>
      <div className="page">
        <Header
          health={health}
          preferences={preferences}
          wires={wires}
          mode={mode}
          busy={busy}
          onMode={chooseMode}
          onNewChat={newChat}
        />
        <LoadedChat key={place.chatId} place={place} mode={mode} music={music} health={health} onBusy={setBusy} />
      </div>
    </WordsContext>
  );
}

interface LoadedChatProps {
  place: Place;
  mode: Mode;
  music: Music;
  health: Health | undefined;
  onBusy: (busy: boolean) => void;
}

function LoadedChat({ place, mode, music, health, onBusy }: LoadedChatProps) {
  const { t } = useWords();
  const { chatId, tap, wires } = place;
  const [messages, setMessages] = useState<UIMessage[] | undefined>(place.isNew ? [] : undefined);
  const [failed, setFailed] = useState(false);
  const [attempt, setAttempt] = useState(0);

  useEffect(() => {
    if (place.isNew) return;
    let gone = false;
    setFailed(false);
    fetchMessages(place.chatId).then(
      (loaded) => !gone && setMessages(loaded),
      () => !gone && setFailed(true),
    );
    return () => {
      gone = true;
    };
  }, [place, attempt]);

  if (messages) {
    const lines = { chatId, tap, wires, mode };
    return <Conversation {...lines} initialMessages={messages} music={music} health={health} onBusy={onBusy} />;
  }
  return (
    <main data-view="chat">
      <div className="chat">
        <div className="messages">
          <div className="column" aria-busy={!failed}>
            {failed ? (
              <div className="notice notice-error" role="alert">
                <p>{t.loadFailed}</p>
                <button type="button" className="button button-small" onClick={() => setAttempt(attempt + 1)}>
                  {t.retry}
                </button>
              </div>
            ) : (
              <>
                <p className="visually-hidden" role="status">
                  {t.loading}
                </p>
                <div className="skeleton skeleton-me" />
                <div className="skeleton skeleton-line" />
                <div className="skeleton skeleton-card" />
              </>
            )}
          </div>
        </div>
      </div>
      <aside aria-label={t.panelLabel} />
    </main>
  );
}
