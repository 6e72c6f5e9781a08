import { counter, duration, level, reading } from "./instruments.ts";

/**
 * Everything that is measured, through OpenTelemetry. The names and attributes are stable, and docs/operations.md lists
 * them. Attributes have few values: never ids, owners, texts or arguments; the name of a tool is allowed.
 */
export const metrics = {
  turns: {
    started: counter({ name: "adk_stream_protocol.turns.started", description: "Turns that began." }),
    duration: duration({ name: "adk_stream_protocol.turn.duration", description: "How long turns took." }),
    running: level({ name: "adk_stream_protocol.turns.running", description: "Turns that run." }),
    queued: level({ name: "adk_stream_protocol.turns.queued", description: "Turns that wait for an earlier one." }),
  },
  approvals: {
    changes: counter({ name: "adk_stream_protocol.approval.changes", description: "Changes of approvals." }),
    claimDelay: duration({
      name: "adk_stream_protocol.approval.claim_delay",
      description: "From a yes to the claim of its call.",
    }),
    open: reading({
      name: "adk_stream_protocol.approvals.open",
      description: "Calls without an outcome, in the whole store.",
      attribute: "state",
    }),
  },
  log: {
    lag: duration({ name: "adk_stream_protocol.log.lag", description: "From an append to a reader that waits." }),
  },
  leases: {
    held: level({ name: "adk_stream_protocol.leases.held", description: "Chats that this node has." }),
    taken: counter({ name: "adk_stream_protocol.leases.taken", description: "Chats that this node took." }),
    lost: counter({
      name: "adk_stream_protocol.leases.lost",
      description: "Chats that another node took from this one.",
    }),
  },
  inbox: {
    posted: counter({ name: "adk_stream_protocol.inbox.posted", description: "Requests posted to another node." }),
    waiting: level({ name: "adk_stream_protocol.inbox.waiting", description: "Posted requests without a reply." }),
  },
  connections: {
    sockets: level({ name: "adk_stream_protocol.sockets", description: "Open WebSockets of clients." }),
    streams: level({ name: "adk_stream_protocol.streams", description: "Open event streams of clients." }),
    live: level({ name: "adk_stream_protocol.live_connections", description: "Open live connections to the model." }),
  },
  model: {
    calls: counter({ name: "adk_stream_protocol.model.calls", description: "Calls to the model." }),
  },
};
