import { ApprovalLanguage } from "adk-stream-protocol/react";
import { ja } from "adk-stream-protocol/react/ja";
import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { fetchHealth, fetchMessages, type Health, type MessagePage } from "./api.ts";
import { chatIdOf, newChatId, withChatId } from "./chat-id.ts";
import { ChatListView } from "./chat-list-view.tsx";
import { waitingElsewhere } from "./chat-pages.ts";
import { ChatSide } from "./chat-side.tsx";
import { Conversation } from "./conversation.tsx";
import { Header } from "./header.tsx";
import { Intro } from "./intro.tsx";
import { type Mode, modeOf, withMode } from "./mode.ts";
import { createMusic, type Music } from "./music.ts";
import { rememberMode, storedMode, usePreferences, useWords, WordsContext } from "./preferences.ts";
import { ShortcutSheet } from "./shortcut-sheet.tsx";
import { createStreamTap, type StreamTap } from "./stream-tap.ts";
import { strings } from "./strings.ts";
import { useChatList } from "./use-chat-list.ts";
import { useChatSide } from "./use-chat-side.ts";
import { useShortcuts } from "./use-shortcuts.ts";
import { createWires, type Wires } from "./wires.ts";

/** A chat and the connections to it. */
interface OpenChat {
  chatId: string;
  /** The page has just created this chat, so there is nothing to load. */
  isNew: boolean;
  tap: StreamTap;
  wires: Wires;
}

function openChat(chatId: string, options: { isNew: boolean; mode: Mode }): OpenChat {
  const tap = createStreamTap();
  return { chatId, isNew: options.isNew, tap, wires: createWires(chatId, { tap, mode: options.mode }) };
}

/** Chat and mode are in the page's address, so a reload, a second tab and the back button keep them. */
function openChatFromAddress(): OpenChat {
  const known = chatIdOf(location.href);
  const chatId = known ?? newChatId();
  const mode = modeOf(location.href) ?? storedMode() ?? "sse";
  history.replaceState(null, "", withMode(withChatId(location.href, chatId), mode));
  return openChat(chatId, { isNew: known === undefined, mode });
}

export function App() {
  const preferences = usePreferences();
  const [opened, setOpened] = useState(openChatFromAddress);
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
      // If only the fragment has changed, it is still the same chat.
      if (chatIdOf(location.href) !== opened.chatId) setOpened(openChatFromAddress());
    };
    window.addEventListener("popstate", onPop);
    return () => window.removeEventListener("popstate", onPop);
  }, [opened]);

  const { wires } = opened;
  const mode = useSyncExternalStore(wires.subscribe, wires.mode);
  const [busy, setBusy] = useState(false);
  const [showsKeys, setShowsKeys] = useState(false);
  useShortcuts({ "?": () => setShowsKeys(true) });
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
  const list = useChatList();
  const { refresh } = list;
  const side = useChatSide();
  // A reply that has begun or ended changes the title, the time or what waits.
  useEffect(refresh, [busy, refresh]);
  const newChat = () => {
    const chatId = newChatId();
    history.pushState(null, "", withChatId(location.href, chatId));
    setOpened(openChat(chatId, { isNew: true, mode }));
  };
  const openFromList = (chatId: string) => {
    side.leave();
    if (chatId === opened.chatId) return;
    history.pushState(null, "", withChatId(location.href, chatId));
    setOpened(openChat(chatId, { isNew: false, mode }));
  };

  return (
    <WordsContext value={words}>
      <ApprovalLanguage language={preferences.language} labels={preferences.language === "ja" ? ja : undefined}>
        <div className="page">
          <Header
            health={health}
            preferences={preferences}
            wires={wires}
            mode={mode}
            busy={busy}
            onMode={chooseMode}
            onNewChat={newChat}
            chats={{
              isOpen: side.isOpen,
              waiting: waitingElsewhere(list.chats ?? [], opened.chatId),
              toggle: side.toggle,
            }}
            onShortcuts={() => setShowsKeys(true)}
          />
          <Intro mode={mode} />
          <div className="body">
            <ChatSide isWide={side.isWide} isOpen={side.isOpen} onClose={side.close}>
              <ChatListView list={list} chatId={opened.chatId} onOpen={openFromList} onCurrentDeleted={newChat} />
            </ChatSide>
            <div className="body-chat">
              <LoadedChat
                key={opened.chatId}
                opened={opened}
                mode={mode}
                music={music}
                health={health}
                onBusy={setBusy}
              />
            </div>
          </div>
          {showsKeys && <ShortcutSheet onClose={() => setShowsKeys(false)} />}
        </div>
      </ApprovalLanguage>
    </WordsContext>
  );
}

interface LoadedChatProps {
  opened: OpenChat;
  mode: Mode;
  music: Music;
  health: Health | undefined;
  onBusy: (busy: boolean) => void;
}

function LoadedChat({ opened, mode, music, health, onBusy }: LoadedChatProps) {
  const { t } = useWords();
  const { chatId, tap, wires } = opened;
  const [page, setPage] = useState<MessagePage | undefined>(opened.isNew ? { messages: [] } : undefined);
  const [failed, setFailed] = useState(false);
  const [attempt, setAttempt] = useState(0);

  useEffect(() => {
    if (opened.isNew) return;
    let unmounted = false;
    setFailed(false);
    fetchMessages(opened.chatId).then(
      (loaded) => !unmounted && setPage(loaded),
      () => !unmounted && setFailed(true),
    );
    return () => {
      unmounted = true;
    };
  }, [opened, attempt]);

  if (page) {
    const lines = { chatId, tap, wires, mode };
    return <Conversation {...lines} initialPage={page} music={music} health={health} onBusy={onBusy} />;
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
