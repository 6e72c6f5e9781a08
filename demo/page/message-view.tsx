import { ApprovalCard } from "adk-stream-protocol/react";
import { isToolUIPart, type UIMessage } from "ai";
import { cardApprovals } from "./card-approvals.ts";
import { cardSlots } from "./card-slots.tsx";
import { firstParts } from "./first-parts.ts";
import { CodeView } from "./code-view.tsx";
import { serverSentence } from "./error-sentence.ts";
import { FileView } from "./file-view.tsx";
import { hasSomethingToSee } from "./has-something-to-see.ts";
import { isCodePart } from "./is-code-part.ts";
import { useWords } from "./preferences.ts";
import { ReplyFactsLine } from "./reply-facts-line.tsx";
import { ReplyActions } from "./reply-actions.tsx";
import { RichText } from "./rich-text.tsx";
import { ToolLine } from "./tool-line.tsx";
import type { BridgeChat } from "./use-bridge-chat.ts";
import { UserMessage } from "./user-message.tsx";

type Part = UIMessage["parts"][number];

export function MessageView({ message, bridge }: { message: UIMessage; bridge: BridgeChat }) {
  const { t } = useWords();
  const sources = message.parts.filter((part) => part.type === "source-url" || part.type === "source-document");
  if (message.role === "user")
    return (
      <UserMessage
        message={message}
        bridge={bridge}
        onSend={message.id === bridge.outbox.unsentId ? bridge.retry : undefined}
      />
    );
  if (!hasSomethingToSee(message)) return null;
  return (
    <div className="reply" data-role="assistant" data-message-id={message.id}>
      <span className="visually-hidden">{t.assistant}: </span>
      {firstParts(message.parts).map((part, index) => (
        <AssistantPart key={keyOf(part, index)} part={part} bridge={bridge} />
      ))}
      {sources.length > 0 && <Sources parts={sources} />}
      <Failure message={message} bridge={bridge} />
      <div className="reply-foot">
        <ReplyFactsLine metadata={message.metadata} />
        <ReplyActions message={message} bridge={bridge} />
      </div>
    </div>
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

function AssistantPart({ part, bridge }: { part: Part; bridge: BridgeChat }) {
  const { t } = useWords();
  if (isToolUIPart(part)) {
    if (!part.approval) return <ToolLine part={part} />;
    return (
      <ApprovalCard
        chat={{ approvals: cardApprovals(bridge, t) }}
        part={part}
        clockOffset={bridge.ledger.clockOffset}
        headingLevel={2}
        slots={cardSlots}
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
      return <FileView part={part} />;
    default:
      return null;
  }
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
