import { ApprovalLanguage } from "adk-stream-protocol/react";
import { ja } from "adk-stream-protocol/react/ja";
import { useEffect, useMemo, useState } from "react";
import { fetchHealth, type Health } from "./api.ts";
import { chatIdOf, newChatId, withChatId } from "./chat-id.ts";
import { AgentNotice } from "./agent-notice.tsx";
import { DemoContext } from "./browser-tools.ts";
import { ChatListView } from "./chat-list-view.tsx";
import { waitingElsewhere } from "./chat-pages.ts";
import { ChatSide } from "./chat-side.tsx";
import { Header } from "./header.tsx";
import { Intro } from "./intro.tsx";
import { type Mode, modeOf, withMode } from "./mode.ts";
import { createMusic } from "./music.ts";
import { type Line, OpenChat } from "./open-chat.tsx";
import { rememberMode, storedMode, usePreferences, WordsContext } from "./preferences.ts";
import { ShortcutSheet } from "./shortcut-sheet.tsx";
import { createStreamTap, type StreamTap } from "./stream-tap.ts";
import { strings } from "./strings.ts";
import { useAgent } from "./use-agent.ts";
import { useChatList } from "./use-chat-list.ts";
import { useChatSide } from "./use-chat-side.ts";
import { useShortcuts } from "./use-shortcuts.ts";

/** A chat, and what its transports read and send. */
interface Opened {
  chatId: string;
  /** The page has just created this chat, so there is nothing to load. */
  isNew: boolean;
  tap: StreamTap;
}

/** Chat and mode are in the page's address, so a reload, a second tab and the back button keep them. */
function openChatFromAddress(): Opened {
  const known = chatIdOf(location.href);
  const chatId = known ?? newChatId();
  history.replaceState(null, "", withMode(withChatId(location.href, chatId), modeFromAddress()));
  return { chatId, isNew: known === undefined, tap: createStreamTap() };
}

function modeFromAddress(): Mode {
  return modeOf(location.href) ?? storedMode() ?? "sse";
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
  const agent = useAgent(health);
  useEffect(() => {
    const onPop = () => {
      // If only the fragment has changed, it is still the same chat.
      if (chatIdOf(location.href) === opened.chatId) return;
      setMode(modeFromAddress());
      setOpened(openChatFromAddress());
    };
    window.addEventListener("popstate", onPop);
    return () => window.removeEventListener("popstate", onPop);
  }, [opened]);

  const [mode, setMode] = useState(modeFromAddress);
  const [{ isBusy, connection }, setLine] = useState<Line>({ isBusy: false, connection: undefined });
  const [showsKeys, setShowsKeys] = useState(false);
  useShortcuts({ "?": () => setShowsKeys(true) });

  const chooseMode = (next: Mode) => {
    history.replaceState(null, "", withMode(location.href, next));
    rememberMode(next);
    setMode(next);
  };
  const list = useChatList();
  const { refresh } = list;
  const side = useChatSide();
  // A reply that has begun or ended changes the title, the time or what waits.
  useEffect(refresh, [isBusy, refresh]);
  const newChat = () => {
    const chatId = newChatId();
    history.pushState(null, "", withChatId(location.href, chatId));
    setOpened({ chatId, isNew: true, tap: createStreamTap() });
  };
  const openFromList = (chatId: string) => {
    side.leave();
    if (chatId === opened.chatId) return;
    history.pushState(null, "", withChatId(location.href, chatId));
    setOpened({ chatId, isNew: false, tap: createStreamTap() });
  };

  return (
    <WordsContext value={words}>
      <ApprovalLanguage language={preferences.language} labels={preferences.language === "ja" ? ja : undefined}>
        <div className="page">
          <Header
            health={health}
            name={agent?.name}
            preferences={preferences}
            connection={mode === "bidi" ? connection : undefined}
            mode={mode}
            busy={isBusy}
            onMode={chooseMode}
            onNewChat={newChat}
            chats={{
              isOpen: side.isOpen,
              waiting: waitingElsewhere(list.chats ?? [], opened.chatId),
              toggle: side.toggle,
            }}
            onShortcuts={() => setShowsKeys(true)}
          />
          {health?.demo ? <Intro mode={mode} /> : agent && <AgentNotice agent={agent} />}
          <div className="body">
            <ChatSide isWide={side.isWide} isOpen={side.isOpen} onClose={side.close}>
              <ChatListView list={list} chatId={opened.chatId} onOpen={openFromList} onCurrentDeleted={newChat} />
            </ChatSide>
            <div className="body-chat">
              <DemoContext value={health?.demo === true}>
                <OpenChat key={opened.chatId} {...opened} {...{ mode, music, health, agent }} onLine={setLine} />
              </DemoContext>
            </div>
          </div>
          {showsKeys && <ShortcutSheet onClose={() => setShowsKeys(false)} />}
        </div>
      </ApprovalLanguage>
    </WordsContext>
  );
}
