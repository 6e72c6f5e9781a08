import { useCallback, useEffect, useId, useRef, useState } from "react";
import { ChatRow } from "./chat-row.tsx";
import { withChatId } from "./chat-id.ts";
import { searchChats } from "./chat-pages.ts";
import { importChat, maxImportBytes } from "./chats-api.ts";
import { errorSentence, isDisconnect } from "./error-sentence.ts";
import { useWords } from "./preferences.ts";
import type { ChatList } from "./use-chat-list.ts";

export interface ChatListViewProps {
  list: ChatList;
  chatId: string;
  onOpen: (chatId: string) => void;
  /** The open chat was deleted. */
  onCurrentDeleted: () => void;
}

/** How many rows are drawn at once. */
const rowsAtOnce = 200;

/** The chats, the one that changed last first, with a search in the titles. Older ones are read at the end of the list. */
export function ChatListView({ list, chatId, onOpen, onCurrentDeleted }: ChatListViewProps) {
  const { t } = useWords();
  const words = t.chats;
  const [search, setSearch] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const { chats, hasMore, failed, refresh, loadMore, loadMany } = list;
  const found = searchChats(chats ?? [], search);
  /** After a search the page may know very many chats. */
  const [room, setRoom] = useState(rowsAtOnce);
  const isCut = found.length > room;
  const end = useRef<HTMLButtonElement>(null);
  const isSearch = search.trim() !== "";
  const isSearching = isSearch && hasMore && !failed;

  const showMore = useCallback(() => {
    if (isCut) setRoom((before) => before + rowsAtOnce);
    else loadMore();
  }, [isCut, loadMore]);
  // The button at the end presses itself when it comes into sight, and works without scrolling too.
  useEffect(() => {
    const button = end.current;
    if (!button) return undefined;
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && showMore());
    observer.observe(button);
    return () => observer.disconnect();
  }, [showMore, isSearching]);
  // A search is for the titles of all chats, also of those that the list does not show yet.
  useEffect(() => {
    if (isSearching) loadMany();
  }, [isSearching, loadMany]);

  return (
    <div className="chat-list">
      <div className="chat-list-head">
        <input
          ref={field}
          type="search"
          className="input"
          aria-label={words.search}
          placeholder={words.search}
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
      </div>
      <div className="chat-list-scroll" tabIndex={-1}>
        {failed && (
          <p className="chat-error" role="status">
            {words.failed}
          </p>
        )}
        {chats && found.length === 0 && (
          <p className="chat-none">{isSearching ? words.searching : isSearch ? words.noMatch : words.none}</p>
        )}
        <ul aria-label={words.title}>
          {found.slice(0, room).map((chat) => (
            <ChatRow
              key={chat.id}
              chat={chat}
              isCurrent={chat.id === chatId}
              address={withChatId(location.href, chat.id)}
              onOpen={() => onOpen(chat.id)}
              onChanged={refresh}
              onDeleted={() => {
                field.current?.focus();
                refresh();
                if (chat.id === chatId) onCurrentDeleted();
              }}
            />
          ))}
        </ul>
        {(isCut || (hasMore && !isSearching)) && (
          <button ref={end} type="button" className="button button-small button-quiet chat-older" onClick={showMore}>
            {words.more}
          </button>
        )}
      </div>
      <ImportButton
        onImported={(id) => {
          refresh();
          onOpen(id);
        }}
      />
    </div>
  );
}

function ImportButton({ onImported }: { onImported: (chatId: string) => void }) {
  const { t } = useWords();
  const words = t.chats;
  const picker = useRef<HTMLInputElement>(null);
  const [error, setError] = useState<string>();
  const hintId = useId();
  const take = (file: File | undefined) => {
    setError(undefined);
    if (!file) return;
    if (file.size > maxImportBytes) return setError(words.importTooLarge);
    importChat(file).then(onImported, (failure: Error) =>
      setError(isDisconnect(failure) ? t.connectionLost : `${words.importFailed} ${errorSentence(failure, t)}`),
    );
  };
  return (
    <div className="chat-list-foot">
      <input
        ref={picker}
        type="file"
        hidden
        accept=".jsonl,.ndjson,application/x-ndjson"
        data-testid="import-file"
        onChange={(event) => {
          take(event.target.files?.[0]);
          // The same file can be chosen again.
          event.target.value = "";
        }}
      />
      <button
        type="button"
        className="button button-small"
        aria-describedby={hintId}
        title={words.importHint}
        onClick={() => picker.current?.click()}
      >
        {words.import}
      </button>
      <span id={hintId} className="visually-hidden">
        {words.importHint}
      </span>
      {error !== undefined && (
        <p className="chat-error outside" role="alert">
          {error}
        </p>
      )}
    </div>
  );
}
