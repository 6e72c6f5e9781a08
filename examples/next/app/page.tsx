"use client";

import { useChat } from "@ai-sdk/react";
import {
  DefaultChatTransport,
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses as isAnswered,
} from "ai";

/** Over the WebSocket: `new WebSocketChatTransport({ url: "/live" })` of adk-stream-protocol/client. */
const transport = new DefaultChatTransport({ api: "/agent/stream" });

export default function Page() {
  const { messages, sendMessage, addToolApprovalResponse } = useChat({ transport, sendAutomaticallyWhen: isAnswered });
  const send = async (form: FormData) => sendMessage({ text: String(form.get("text")) });
  return (
    <main>
      {messages.map(({ id, role, parts }) => (
        <section key={id} aria-label={role}>
          {parts.map((part, index) => {
            if (part.type === "text") return <p key={index}>{part.text}</p>;
            if (!isToolUIPart(part)) return null;
            if (part.state !== "approval-requested") return <p key={index}>{`${part.type}: ${part.state}`}</p>;
            const decide = (approved: boolean) => () => addToolApprovalResponse({ id: part.approval.id, approved });
            return (
              <fieldset key={index}>
                <legend>{part.type}</legend>
                <pre>{JSON.stringify(part.input, null, 2)}</pre>
                <button onClick={decide(true)}>Approve</button>
                <button onClick={decide(false)}>Deny</button>
              </fieldset>
            );
          })}
        </section>
      ))}
      <form action={send}>
        <input name="text" aria-label="Message" />
      </form>
    </main>
  );
}
