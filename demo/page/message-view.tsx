import { ApprovalCard } from "adk-stream-protocol/react";
import { isToolUIPart, type UIMessage } from "ai";
import { cardSlots } from "./card-slots.tsx";
import { firstParts } from "./first-parts.ts";
import { CodeView } from "./code-view.tsx";
import { serverSentence } from "./error-sentence.ts";
import { FileView } from "./file-view.tsx";
import { failureOf } from "./failure-of.ts";
import { hasSomethingToSee } from "./has-something-to-see.ts";
import { isCodePart } from "./is-code-part.ts";
import { useWords } from "./preferences.ts";
import { ReplyFactsLine } from "./reply-facts-line.tsx";
import { ReplyActions } from "./reply-actions.tsx";
import { RichText } from "./rich-text.tsx";
import { ToolLine } from "./tool-line.tsx";
import type { ShownChat } from "./shown-chat.ts";
import { UserMessage } from "./user-message.tsx";

type Part = UIMessage["parts"][number];

export function MessageView({ message, chat }: { message: UIMessage; chat: ShownChat }) {
  const { t } = useWords();
  const sources = message.parts.filter((part) => part.type === "source-url" || part.type === "source-document");
  if (message.role === "user") return <UserMessage message={message} chat={chat} {...unsentActions(message, chat)} />;
  if (!hasSomethingToSee(message)) return null;
  return (
    <div className="reply" data-role="assistant" data-message-id={message.id}>
      <span className="visually-hidden">{t.assistant}: </span>
      {firstParts(message.parts).map((part, index) => (
        <AssistantPart key={keyOf(part, index)} part={part} chat={chat} />
      ))}
      {sources.length > 0 && <Sources parts={sources} />}
      <Failure message={message} chat={chat} />
      <div className="reply-foot">
        <ReplyFactsLine metadata={message.metadata} />
        <ReplyActions message={message} chat={chat} />
      </div>
    </div>
  );
}

function unsentActions({ id }: UIMessage, { unsent, resend, discard }: ShownChat) {
  if (!unsent.includes(id)) return {};
  return { onSend: () => resend?.(id), onRemove: () => discard?.(id) };
}

/** Why a reply ended early. */
function Failure({ message, chat }: { message: UIMessage; chat: ShownChat }) {
  const { t } = useWords();
  const error = failureOf(message);
  const isLast = message === chat.messages.at(-1);
  if (error === undefined || (isLast && chat.isBusy)) return null;
  return (
    <div className="notice notice-error" role={isLast ? "alert" : undefined}>
      <p className="outside">{serverSentence(error, t)}</p>
      {isLast && chat.retry && (
        <button type="button" className="button button-small" onClick={chat.retry}>
          {t.retry}
        </button>
      )}
    </div>
  );
}

/** A key that does not depend on the parts before a card, so that the card keeps its open form when they change. */
function keyOf(part: Part, index: number): string {
  return isToolUIPart(part) ? part.toolCallId : `${part.type}:${index}`;
}

function AssistantPart({ part, chat }: { part: Part; chat: ShownChat }) {
  if (isToolUIPart(part)) {
    if (!part.approval) return <ToolLine part={part} />;
    return <ApprovalCard chat={chat} part={part} clockOffset={chat.clockOffset} headingLevel={2} slots={cardSlots} />;
  }
  if (isCodePart(part)) return <CodeView part={part} />;
  switch (part.type) {
    case "text":
      return part.text ? <RichText text={part.text} /> : null;
    case "reasoning":
      return part.text ? <Thoughts text={part.text} isGrowing={part.state === "streaming"} /> : null;
    case "file":
      return <FileView part={part} />;
    default:
      return null;
  }
}

function Thoughts({ text, isGrowing }: { text: string; isGrowing: boolean }) {
  const { t } = useWords();
  return (
    <details className="thoughts">
      <summary>{isGrowing ? t.thinking : t.thoughts}</summary>
      <div className="outside">{text}</div>
    </details>
  );
}

function Sources({ parts }: { parts: Part[] }) {
  const { t } = useWords();
  return (
    <ul className="sources" aria-label={t.sources}>
      {parts.map((part, index) => (
        <li key={index}>
          {part.type === "source-url" && <Link url={part.url} text={part.title ?? part.url} />}
          {part.type === "source-document" && part.title}
        </li>
      ))}
    </ul>
  );
}

function Link({ url, text }: { url: string; text: string }) {
  const safe = /^https?:/i.test(url);
  if (!safe) return <span>{text}</span>;
  return (
    <a href={url} target="_blank" rel="noreferrer noopener">
      {text}
    </a>
  );
}
