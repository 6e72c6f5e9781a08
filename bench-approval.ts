export function newApproval(chat: { id: string; owner: string }, call: string, fields: object = {}) {
  return {
    id: `${chat.id}-${call}`,
    chat: chat.id,
    session: chat.id,
    owner: chat.owner,
    toolCallId: call,
    toolName: "p",
    input: '{"a":1}',
    digest: "d".repeat(64),
    messageId: "message",
    agent: "root",
    mode: "request",
    external: false,
    gated: true,
    effect: "opaque",
    state: "pending",
    ttlMs: 600000,
    startMs: 600000,
    ...fields,
  } as never;
}
