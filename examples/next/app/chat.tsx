"use client";

import { ApprovalCard, ConnectionState, useAgentChat } from "adk-stream-protocol/react";

/** Over the WebSocket of `server.ts`: `useAgentChat({ id, api: "/agent", transport: "websocket", url: "/live" })`. */
export function Chat({ id }: { id: string }) {
  const chat = useAgentChat({ id, api: "/agent" });
  const { messages, sendMessage, error, problem, connection } = chat;
  const send = async (form: FormData) => sendMessage({ text: String(form.get("text")) });
  return (
    <main>
      <ConnectionState connection={connection} />
      {messages.map(({ id: messageId, role, parts }) => (
        <section key={messageId} aria-label={role}>
          {parts.map((part, index) =>
            part.type === "text" ? (
              <p key={index}>{part.text}</p>
            ) : (
              <ApprovalCard key={index} chat={chat} part={part} />
            ),
          )}
        </section>
      ))}
      {(error ?? problem) && <p role="alert">{error?.message ?? problem}</p>}
      <form action={send}>
        <input name="text" aria-label="Message" />
      </form>
    </main>
  );
}
