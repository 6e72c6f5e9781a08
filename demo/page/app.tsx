import type { UIMessage } from "ai";
import { useEffect, useMemo, useState } from "react";
import { fetchHealth, fetchMessages, type Health } from "./api.ts";
import { chatIdOf, newChatId, withChatId } from "./chat-id.ts";
import { Conversation } from "./conversation.tsx";
import { Header } from "./header.tsx";
import { createMusic, type Music } from "./music.ts";
import { usePreferences, useWords, WordsContext } from "./preferences.ts";
import { createStreamTap } from "./stream-tap.ts";
import { strings } from "./strings.ts";

interface Place {
  chatId: string;
  /** Made here a moment ago, so there is nothing to load. */
  isNew: boolean;
}

/** The chat is in the address, so a reload, a second tab and the back button find it again. */
function placeFromAddress(): Place {
  const known = chatIdOf(location.href);
  if (known) return { chatId: known, isNew: false };
  const chatId = newChatId();
  history.replaceState(null, "", withChatId(location.href, chatId));
  return { chatId, isNew: true };
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
    const onPop = () => setPlace(placeFromAddress());
    window.addEventListener("popstate", onPop);
    return () => window.removeEventListener("popstate", onPop);
  }, []);

  const newChat = () => {
    const chatId = newChatId();
    history.pushState(null, "", withChatId(location.href, chatId));
    setPlace({ chatId, isNew: true });
  };

  return (
    <WordsContext value={words}>
      <div className="page">
        <Header health={health} preferences={preferences} onNewChat={newChat} />
        <LoadedChat key={place.chatId} place={place} music={music} health={health} />
      </div>
    </WordsContext>
  );
}

function LoadedChat({ place, music, health }: { place: Place; music: Music; health: Health | undefined }) {
  const { t } = useWords();
  const [tap] = useState(() => createStreamTap());
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
    return <Conversation chatId={place.chatId} initialMessages={messages} tap={tap} music={music} health={health} />;
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
