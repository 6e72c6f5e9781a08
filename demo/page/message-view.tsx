import { isToolUIPart, type UIMessage } from "ai";
import { ApprovalCard } from "./approval-card.tsx";
import { firstParts } from "./first-parts.ts";
import { CodeView } from "./code-view.tsx";
import { serverSentence } from "./error-sentence.ts";
import { hasSomethingToSee } from "./has-something-to-see.ts";
import { isCodePart } from "./is-code-part.ts";
import { useWords } from "./preferences.ts";
import { ReplyFactsLine } from "./reply-facts-line.tsx";
import { RichText } from "./rich-text.tsx";
import { ToolLine } from "./tool-line.tsx";
import { UnsentNote } from "./unsent-note.tsx";
import type { BridgeChat } from "./use-bridge-chat.ts";

type Part = UIMessage["parts"][number];

export function MessageView({ message, bridge }: { message: UIMessage; bridge: BridgeChat }) {
  const { t } = useWords();
  const sources = message.parts.filter((part) => part.type === "source-url" || part.type === "source-document");
  if (message.role === "user")
    return <UserMessage message={message} onSend={message.id === bridge.outbox.unsentId ? bridge.retry : undefined} />;
  if (!hasSomethingToSee(message)) return null;
  return (
    <div className="reply" data-role="assistant" data-message-id={message.id}>
      <span className="visually-hidden">{t.assistant}: </span>
      {firstParts(message.parts).map((part, index) => (
        <AssistantPart key={keyOf(part, index)} part={part} bridge={bridge} />
      ))}
      {sources.length > 0 && <Sources parts={sources} />}
      <Failure message={message} bridge={bridge} />
      <ReplyFactsLine metadata={message.metadata} />
    </div>
  );
}

interface UserMessageProps {
  message: UIMessage;
  /** Only for a message that was not sent. */
  onSend?: (() => void) | undefined;
  onRemove?: () => void;
}

export function UserMessage({ message, onSend, onRemove }: UserMessageProps) {
  const { t } = useWords();
  return (
    <>
      <div className={onSend ? "me me-unsent" : "me"} data-role="user" data-unsent={onSend !== undefined}>
        <span className="visually-hidden">{t.you}: </span>
        {message.parts.map((part, index) => (
          <UserPart key={index} part={part} />
        ))}
      </div>
      {onSend && <UnsentNote onSend={onSend} onRemove={onRemove} />}
    </>
  );
}

/** Shows after a reload why a reply ended early. Not needed while the page still shows the error itself. */
function Failure({ message, bridge }: { message: UIMessage; bridge: BridgeChat }) {
  const { t } = useWords();
  const { error } = (message.metadata ?? {}) as { error?: unknown };
  const isLast = message === bridge.messages.at(-1);
  if (typeof error !== "string" || (isLast && (bridge.error || bridge.status !== "ready"))) return null;
  return (
    <div className="notice notice-error">
      <p className="outside">{serverSentence(error, t)}</p>
      {isLast && (
        <button type="button" className="button button-small" onClick={bridge.retry}>
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

function UserPart({ part }: { part: Part }) {
  if (part.type === "text") return <span className="outside">{part.text}</span>;
  if (part.type === "file") return <FileView url={part.url} mediaType={part.mediaType} name={part.filename} />;
  return null;
}

function AssistantPart({ part, bridge }: { part: Part; bridge: BridgeChat }) {
  const { t } = useWords();
  if (isToolUIPart(part)) {
    if (!part.approval) return <ToolLine part={part} />;
    const { id } = part.approval;
    return (
      <ApprovalCard
        part={part}
        approvalId={id}
        state={bridge.cards.get(id)?.state ?? "asked"}
        data={bridge.data.get(id)}
        row={bridge.rows.get(id)}
        runningHere={bridge.running.has(part.toolCallId)}
        clockOffset={bridge.ledger.clockOffset}
        onAnswer={bridge.answer}
        onResolve={bridge.resolve}
        onSendAgain={bridge.sendAgain}
      />
    );
  }
  if (isCodePart(part)) return <CodeView part={part} />;
  switch (part.type) {
    case "text":
      return part.text ? <RichText text={part.text} /> : null;
    case "reasoning":
      return part.text ? (
        <details className="thoughts">
          <summary>{part.state === "streaming" ? t.thinking : t.thoughts}</summary>
          <div className="outside">{part.text}</div>
        </details>
      ) : null;
    case "file":
      return <FileView url={part.url} mediaType={part.mediaType} name={part.filename} />;
    default:
      return null;
  }
}

/** Draws only images that are inside the message. Other addresses become links, so that nothing is fetched by itself. */
function FileView({ url, mediaType, name }: { url: string; mediaType: string; name: string | undefined }) {
  const { t } = useWords();
  if (url.startsWith("data:image/")) return <img className="picture" src={url} alt={name ?? t.image} />;
  const label = `${name ?? t.file} (${mediaType})`;
  return <Link url={url} text={label} download={url.startsWith("data:") ? (name ?? "file") : undefined} />;
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

function Link({ url, text, download }: { url: string; text: string; download?: string | undefined }) {
  const safe = /^(https?:|data:)/i.test(url);
  if (!safe) return <span>{text}</span>;
  return (
    <a href={url} target="_blank" rel="noreferrer noopener" download={download}>
      {text}
    </a>
  );
}
