import { useChat } from "@ai-sdk/react";
import { onlyNewMessages } from "adk-stream-protocol/client";
import {
  DefaultChatTransport,
  getToolName,
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  type UIMessage,
} from "ai";
import { useState } from "react";
import { ApprovalCard } from "./approval-card.tsx";

const transport = new DefaultChatTransport<UIMessage>({
  api: "/stream",
  prepareSendMessagesRequest: onlyNewMessages,
});

export function Chat({ id, initialMessages }: { id: string; initialMessages: UIMessage[] }) {
  const { messages, sendMessage, addToolApprovalResponse, status, error } = useChat({
    id,
    messages: initialMessages,
    transport,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  const [draft, setDraft] = useState("");
  const isBusy = status === "submitted" || status === "streaming";

  return (
    <main>
      {messages.map((message) => (
        <article key={message.id} data-role={message.role}>
          {message.parts.map((part, index) => {
            if (part.type === "text") return <p key={index}>{part.text}</p>;
            if (!isToolUIPart(part)) return null;
            if (part.state !== "approval-requested")
              return (
                <p key={part.toolCallId} className="tool">
                  {getToolName(part)}: {part.state}
                </p>
              );
            const { id: approvalId } = part.approval;
            return (
              <ApprovalCard
                key={part.toolCallId}
                name={getToolName(part)}
                input={part.input}
                onAnswer={(approved) => void addToolApprovalResponse({ id: approvalId, approved })}
              />
            );
          })}
        </article>
      ))}
      {error && <p role="alert">{error.message}</p>}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isBusy || draft.trim() === "") return;
          void sendMessage({ text: draft });
          setDraft("");
        }}
      >
        <input aria-label="Message" value={draft} onChange={(event) => setDraft(event.target.value)} />
        <button disabled={isBusy}>Send</button>
      </form>
    </main>
  );
}
