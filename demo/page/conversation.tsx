import type { UIMessage } from "ai";
import { useEffect, useMemo, useRef, useState } from "react";
import { Announcer } from "./announcer.tsx";
import type { ApprovalInfo } from "adk-stream-protocol/client";
import type { Health } from "./api.ts";
import { ApprovalTrack } from "./approval-track.tsx";
import { BreakIt } from "./break-it.tsx";
import { Composer } from "./composer.tsx";
import type { AgentInfo } from "./debug-api.ts";
import { money } from "./format.ts";
import { ModelName } from "./header.tsx";
import { Inspector } from "./inspector.tsx";
import { KeepPlace } from "./keep-place.tsx";
import { MessageBlockView } from "./message-block-view.tsx";
import { type MessageBlock, messageBlocks } from "./message-blocks.ts";
import type { Mode } from "./mode.ts";
import type { Music } from "./music.ts";
import { Notices } from "./notices.tsx";
import { NowPlaying } from "./now-playing.tsx";
import { useWords } from "./preferences.ts";
import { isSecondClick } from "./second-click.ts";
import { OlderButton } from "./older-button.tsx";
import { Samples } from "./samples.tsx";
import { showCard } from "./show-card.ts";
import { StateView } from "./state-view.tsx";
import type { StreamTap } from "./stream-tap.ts";
import type { Strings } from "./strings.ts";
import { useAttachments } from "./use-attachments.ts";
import { useHiddenCards } from "./use-hidden-cards.ts";
import type { PageChat } from "./use-page-chat.ts";
import { useShortcuts } from "./use-shortcuts.ts";
import { useStickToEnd } from "./use-stick-to-end.ts";
import { UserMessage } from "./user-message.tsx";
import { useWaitingAnchor } from "./use-waiting-anchor.ts";
import { WaitingBar } from "./waiting-bar.tsx";
import { WalletPanel } from "./wallet-panel.tsx";

export interface ConversationProps {
  chat: PageChat;
  chatId: string;
  /** The page has just created this chat. */
  isNew: boolean;
  tap: StreamTap;
  mode: Mode;
  music: Music;
  health: Health | undefined;
  agent: AgentInfo | undefined;
}

/** One chat: the conversation on the left, the server's data on the right (on a phone, one at a time). */
export function Conversation(props: ConversationProps) {
  const { chat, chatId, isNew, tap, mode, music, health, agent } = props;
  const { t, language } = useWords();
  const [view, setView] = useState<"chat" | "panel">("chat");
  const waiting = chat.cards.filter(({ state }) => state === "asked");
  const pending = waiting.map(({ approvalId }) => approvalId);
  const asked = pending.length;
  const [hidden, setHidden] = useState<readonly string[]>([]);
  const [draft, setDraft] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  const attachments = useAttachments();
  const { ledger, isBusy } = chat;
  const { approvals, wallet } = ledger;
  const isDemo = health?.demo === true;
  const suggestions = suggestionsFor(health, agent, t);
  const name = agent?.name ?? "adk-stream-protocol";

  useEffect(() => {
    document.title = asked > 0 ? `(${asked}) ${name}` : name;
  }, [asked, name]);

  const show = (approvalId: string) => {
    setView("chat");
    // The conversation may have to be drawn first.
    requestAnimationFrame(() => showCard(approvalId));
  };
  /** Moves to the card that waits after the one with the focus, or to the first one. */
  const showNext = () => {
    const current = document.activeElement?.closest("[data-approval-id]")?.getAttribute("data-approval-id");
    const next = pending[(pending.indexOf(current ?? "") + 1) % pending.length];
    if (next !== undefined) show(next);
  };
  const leave = () => {
    if (asked > 0) showNext();
    else document.querySelector<HTMLElement>(".messages")?.focus();
  };
  /** A click on a suggestion must not withdraw what waits, so the suggestion waits too. */
  const suggest = (text: string) => {
    if (asked === 0) return chat.send(text);
    setDraft((before) => (before.trim() === "" || suggestions.includes(before) ? text : `${before}\n${text}`));
    field.current?.focus();
  };
  useShortcuts({
    ...(isBusy && { Escape: chat.stop }),
    "/": () => field.current?.focus(),
    w: showNext,
    a: () => focusButton("[data-part=approve]"),
    d: () => focusButton("[data-part=deny]"),
    l: () => document.querySelector<HTMLElement>(".latest")?.click(),
  });

  return (
    <>
      <nav className="views" aria-label={t.views}>
        <button
          type="button"
          aria-pressed={view === "chat"}
          onClick={() => (pending[0] === undefined ? setView("chat") : show(pending[0]))}
        >
          {t.chatTab}
          {asked > 0 && <span className="badge">{asked}</span>}
        </button>
        <button type="button" aria-pressed={view === "panel"} onClick={() => setView("panel")}>
          {isDemo ? t.panelTab : t.eventsTab}
          {wallet && <span className="views-balance">{money(wallet.balance, wallet.currency, language)}</span>}
        </button>
      </nav>
      <main data-view={view}>
        <div className="chat">
          <Messages {...{ chat, waiting, suggestions, health, agent }} onHidden={setHidden} onSuggestion={suggest} />
          <div className="dock">
            <div className="column">
              <Notices chat={chat} />
              <NowPlaying music={music} />
              <WaitingBar cards={waiting.filter(({ approvalId }) => hidden.includes(approvalId))} />
              {chat.messages.length > 0 && (
                <Suggestions large={false} {...{ isBusy, suggestions }} onSuggestion={suggest} />
              )}
              <Composer
                busy={isBusy}
                failed={chat.hasFailed}
                answering={chat.isAtWork || chat.cards.some(({ state }) => state === "sending")}
                pending={pending}
                mode={mode}
                draft={draft}
                onDraft={setDraft}
                field={field}
                attachments={attachments}
                onSend={chat.send}
                onStop={chat.stop}
                onLeave={leave}
              />
            </div>
          </div>
        </div>
        <aside aria-label={isDemo ? t.panelLabel : t.eventsLabel} tabIndex={0}>
          <section aria-labelledby="approvals-title">
            <h2 id="approvals-title">{t.approvals}</h2>
            {approvals.length === 0 ? (
              <p className="muted small">{t.noApprovals}</p>
            ) : (
              <ul className="tracks">
                {approvals.map((row) => (
                  <ApprovalTrack key={row.id} row={row} onShow={show} />
                ))}
              </ul>
            )}
          </section>
          {isDemo && (
            <>
              <WalletPanel wallet={wallet} onReset={ledger.refresh} />
              <Samples mode={mode} chat={chat} />
              <BreakIt chatId={chatId} mode={mode} debug={health.debug === true} chat={chat} />
            </>
          )}
          <Inspector
            {...{ tap, chatId, mode }}
            debug={health?.debug === true}
            hasHistory={!isNew}
            sequence={ledger.sequence}
          />
          {health?.debug === true && <StateView chatId={chatId} sequence={ledger.sequence} />}
          <p className="panel-foot">
            <ModelName health={health} mode={mode} />
            <span>AI SDK {__AI_MAJOR__}</span>
          </p>
        </aside>
      </main>
      <Announcer chat={chat} />
    </>
  );
}

const nearEndPx = 80;

/** Shortcuts move the focus only. Pressing the button stays a separate act. */
function focusButton(selector: string): void {
  const card = document.activeElement?.closest("[data-approval-id]");
  card?.querySelector<HTMLElement>(selector)?.focus();
}

/** Whether the reply's text is growing. If it is, the page needs no other sign that something happens. */
function isSpeaking(message: UIMessage | undefined): boolean {
  const part = message?.role === "assistant" ? message.parts.at(-1) : undefined;
  return part?.type === "text" && part.state === "streaming" && part.text !== "";
}

/** The demo's sentences, or sentences that make a scripted model call the agent's tools. A real model needs none. */
function suggestionsFor(health: Health | undefined, agent: AgentInfo | undefined, t: Strings): readonly string[] {
  if (health?.demo) return t.suggestions;
  if (!health?.scripted || !agent) return [];
  const { call, whatCanYouDo } = t.panel.agent;
  return [...agent.tools.slice(0, 5).map(call), whatCanYouDo];
}

interface MessagesProps {
  chat: PageChat;
  waiting: readonly ApprovalInfo[];
  suggestions: readonly string[];
  health: Health | undefined;
  agent: AgentInfo | undefined;
  /** Tells which of the cards that wait are scrolled out of sight. */
  onHidden: (approvalIds: readonly string[]) => void;
  onSuggestion: (text: string) => void;
}

function Messages({ chat, waiting, suggestions, health, agent, onHidden, onSuggestion }: MessagesProps) {
  const { t } = useWords();
  const { messages, cards, kept, older, isBusy } = chat;
  const content = useMemo(() => ({ messages, cards }), [messages, cards]);
  const pending = waiting.map(({ approvalId }) => approvalId);
  const { anchor, pass } = useWaitingAnchor<HTMLDivElement>(pending);
  const { box, atEnd, onScroll, goToEnd } = useStickToEnd<HTMLDivElement>(content, nearEndPx, anchor);
  const hidden = useHiddenCards(box, pending).join(" ");
  useEffect(() => onHidden(hidden === "" ? [] : hidden.split(" ")), [hidden, onHidden]);
  const drawn = useRef<readonly MessageBlock[]>([]);
  const blocks = useMemo(() => (drawn.current = messageBlocks(messages, drawn.current)), [messages]);
  const count = messages.length;
  const lastRole = messages.at(-1)?.role;
  // A person who sends a message wants to see the reply, even after scrolling up.
  useEffect(() => {
    if (lastRole !== "user") return;
    pass();
    goToEnd();
  }, [count, lastRole, pass, goToEnd]);

  return (
    <div className="messages-box">
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
              <Welcome health={health} agent={agent} />
              <Suggestions large {...{ isBusy, suggestions }} onSuggestion={onSuggestion} />
            </div>
          )}
          <OlderButton older={older} box={box} first={messages[0]?.id} />
          <KeepPlace box={box} first={messages[0]?.id} isOn={!older.isGoingToBeginning}>
            {blocks.map((block) => (
              <MessageBlockView
                key={block.id}
                {...{ block, chat, box }}
                isLast={block === blocks.at(-1)}
                isPaused={older.isGoingToBeginning}
              />
            ))}
          </KeepPlace>
          {kept.overtaken.map((message) => (
            <UserMessage
              key={message.id}
              {...{ message, chat }}
              onSend={() => chat.sendKept(message)}
              onRemove={() => kept.forget(message.id)}
            />
          ))}
          {isBusy && !isSpeaking(messages.at(-1)) && (
            <p className="thinking" data-testid="thinking">
              <span className="visually-hidden">{t.thinking}</span>
              <span aria-hidden="true" />
              <span aria-hidden="true" />
              <span aria-hidden="true" />
            </p>
          )}
        </div>
      </div>
      {!atEnd && count > 0 && (
        <button
          type="button"
          className="latest"
          aria-label={t.card.latest}
          title={t.card.latest}
          onClick={() => {
            pass();
            goToEnd();
          }}
        >
          ↓
        </button>
      )}
    </div>
  );
}

/** What the page is for. Before the server has said which agent it has, there is nothing to say. */
function Welcome({ health, agent }: Pick<MessagesProps, "health" | "agent">) {
  const { t } = useWords();
  if (!health) return null;
  const words = t.panel.agent;
  return (
    <>
      <h2>{health.demo ? t.emptyTitle : (agent?.name ?? "adk-stream-protocol")}</h2>
      <p>{health.demo ? t.emptyText : words.emptyText(health.scripted === true)}</p>
    </>
  );
}

interface SuggestionsProps {
  isBusy: boolean;
  large: boolean;
  suggestions: readonly string[];
  onSuggestion: (text: string) => void;
}

function Suggestions({ isBusy, large, suggestions, onSuggestion }: SuggestionsProps) {
  const { t } = useWords();
  if (suggestions.length === 0) return null;
  return (
    <ul className={large ? "chips chips-large" : "chips"} aria-label={t.suggestionsLabel}>
      {suggestions.map((text) => (
        <li key={text}>
          <button
            type="button"
            aria-disabled={isBusy}
            onClick={(event) => !isSecondClick(event) && !isBusy && onSuggestion(text)}
          >
            {text}
          </button>
        </li>
      ))}
    </ul>
  );
}
