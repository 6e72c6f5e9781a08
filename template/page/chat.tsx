import { ApprovalCard, ConnectionState, useAgentChat } from "adk-stream-protocol/react";
import { getToolName, isToolUIPart } from "ai";
import { useState } from "react";
import type { rootAgent } from "../agent.ts";

/** A chat with the agent. It reads its messages from the server, so it continues after a reload. */
export function Chat({ id }: { id: string }) {
  // The agent's type says what the input and output of its tools are.
  const chat = useAgentChat<typeof rootAgent>({ id });
  const { messages, sendMessage, status, error, problem, connection, hasOlder, loadOlder } = chat;
  const { unsent, resend, discard } = chat;
  const [draft, setDraft] = useState("");

  return (
    <main>
      <ConnectionState connection={connection} />
      {hasOlder && <button onClick={() => void loadOlder()}>Older messages</button>}
      {messages.map(({ id: messageId, role, parts }) => (
        <article key={messageId} data-role={role}>
          {parts.map((part, index) => {
            if (part.type === "text") return <p key={index}>{part.text}</p>;
            if (!isToolUIPart(part)) return null;
            // The question, and then its outcome.
            if (part.approval) return <ApprovalCard key={index} chat={chat} part={part} />;
            if (part.state !== "output-available") return null;
            return (
              <p key={index} className="tool">
                {getToolName(part)}: {JSON.stringify(part.output)}
              </p>
            );
          })}
          {unsent.includes(messageId) && (
            <p>
              Not sent. <button onClick={() => void resend(messageId)}>Send again</button>{" "}
              <button onClick={() => discard(messageId)}>Discard</button>
            </p>
          )}
        </article>
      ))}
      {(error ?? problem) && <p role="alert">{error?.message ?? problem}</p>}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (status === "submitted" || draft.trim() === "") return;
          void sendMessage({ text: draft });
          setDraft("");
        }}
      >
        <input
          aria-label="Message"
          placeholder="Pay Hanako 50 dollars"
          value={draft}
          onChange={(event) => setDraft(event.target.value)}
        />
        <button disabled={status === "submitted"}>Send</button>
      </form>
    </main>
  );
}
