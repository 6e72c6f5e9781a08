/** What must be true of each chat after a torture run, whatever happened. Each function returns sentences about violations. */
import { isDeepStrictEqual } from "node:util";
import type { Content } from "@google/genai";
import type { UIMessage } from "ai";
import { transition } from "../../src/protocol/approval.ts";
import { foldLog } from "../../src/stores/fold-logs.ts";
import {
  type Approval,
  type AuditEntry,
  type LogEntry,
  type StoredEvent,
  type StoredMessage,
  verifyAudit,
} from "../../src/stores/index.ts";
import type { Acknowledged } from "./history.ts";
import { resultOf, story } from "./settings.ts";

/** Everything that the database has of a chat. */
export interface ChatState {
  /** The id of the chat in the database; empty if it was never begun. */
  id: string;
  name: string;
  log: readonly LogEntry[];
  messages: readonly StoredMessage[];
  approvals: readonly Approval[];
  audit: readonly AuditEntry[];
  /** The model's history, and that of the clerk for each of its calls, by session. */
  events: ReadonlyMap<string, readonly StoredEvent[]>;
  /** The effects that the tools had, by idempotency key. */
  effects: ReadonlyMap<string, number>;
}

export function checkChat(chat: ChatState, acknowledged: readonly Acknowledged[]): string[] {
  const found = [
    ...checkLog(chat),
    ...checkMessages(chat),
    ...checkAcknowledged(chat, acknowledged),
    ...checkAudit(chat),
    ...chat.approvals.flatMap((approval) => checkApproval(approval, chat)),
    ...checkTold(chat),
  ];
  return found.map((violation) => `${chat.name}: ${violation}`);
}

/**
 * The log has no gap, and its turns come one after the other, each with one beginning and one end. What an edit withdraws
 * is withdrawn directly before its turn begins.
 */
function checkLog({ log }: ChatState): string[] {
  const found: string[] = [];
  let open: string | undefined;
  const ended = new Set<string>();
  for (const [index, { sequence, kind, turn }] of log.entries()) {
    if (sequence !== index + 1) return [`entry ${index + 1} of the log has the number ${sequence}`];
    if (ended.has(turn)) found.push(`turn ${turn} has a ${kind} entry, ${sequence}, after its end`);
    if (kind === "begin") {
      if (open !== undefined) found.push(`turn ${turn} begins at ${sequence}, before the end of ${open}`);
      open = turn;
    } else if (turn !== open && !(kind === "withdraw" && open === undefined))
      found.push(`entry ${sequence} belongs to ${turn} while ${String(open)} is open`);
    if (kind === "end") {
      ended.add(turn);
      open = undefined;
    }
  }
  if (open !== undefined) found.push(`turn ${open} has no end`);
  if (found.length > 0) found.push(`its log is ${describeLog(log)}`);
  return found;
}

/** The kinds of the entries, with the last characters of their turn wherever it changes. */
function describeLog(log: readonly LogEntry[]): string {
  return log
    .map((entry, index) => {
      const name = entry.turn === log[index - 1]?.turn ? "" : ` [${entry.turn.slice(-4)}]`;
      return `${name} ${entry.kind === "chunk" ? entry.chunk.type : entry.kind.toUpperCase()}`;
    })
    .join("");
}

/** The messages are what the log adds up to, and no word of a text occurs twice. */
function checkMessages({ log, messages }: ChatState): string[] {
  const found: string[] = [];
  const folded = foldLog(log, (error) => found.push(`a chunk does not fit: ${String(error)}`)).map(
    ({ message }) => message,
  );
  const stored = messages.map(({ message }) => message);
  if (
    !isDeepStrictEqual(
      plain(folded.map(({ id }) => id)),
      stored.map(({ id }) => id),
    )
  )
    found.push(
      `the log adds up to [${folded.map(({ id }) => id).join()}], stored are [${stored.map(({ id }) => id).join()}]`,
    );
  for (const message of stored) {
    const same = folded.find(({ id }) => id === message.id);
    if (same && !isDeepStrictEqual(plain(same), plain(message)))
      found.push(
        `message ${message.id} is not what the log adds up to:\n${JSON.stringify(same)}\n${JSON.stringify(message)}\n${describeLog(log)}`,
      );
    if (message.role === "assistant") found.push(...checkWords(message));
  }
  return found;
}

/** A story is told from its beginning, and as far as it was told, each word once. */
function checkWords({ id, parts }: UIMessage): string[] {
  return parts.flatMap((part) => {
    if (part.type !== "text" || part.text === "") return [];
    const isKnown = story.startsWith(part.text) || /^(Yes\.|Heard of [^.]*\.)+$/.test(part.text);
    return isKnown ? [] : [`message ${id} says what the model never said: ${JSON.stringify(part.text)}`];
  });
}

/** What the server has acknowledged is in the log. */
function checkAcknowledged({ name, log }: ChatState, acknowledged: readonly Acknowledged[]): string[] {
  const begun = new Set(
    log.flatMap((entry) =>
      entry.kind === "begin" && entry.message ? [keyOf(entry.message.id, textOf(entry.message))] : [],
    ),
  );
  return acknowledged
    .filter(({ chat, id, text }) => chat === name && !begun.has(keyOf(id, text)))
    .map(({ id, text }) => `message ${id} was acknowledged and is not in the log: ${text}`);
}

/** The chain of the audit is whole, and its changes are legal and lead to the rows as they are. */
function checkAudit({ audit, approvals }: ChatState): string[] {
  const broken = verifyAudit(audit);
  if (broken !== undefined) return [`the audit is broken at ${broken}`];
  const found: string[] = [];
  for (const { id, state } of approvals) {
    const entries = audit.filter(({ approvalId }) => approvalId === id);
    const decisions = entries.filter(({ event }) => event === "approve" || event === "deny");
    if (decisions.length > 1) found.push(`approval ${id} was decided ${decisions.length} times`);
    let now = entries[0]?.state;
    for (const { event, state: next } of entries.slice(1)) {
      const cell = event === "create" || !now ? undefined : transition(now, event);
      if (!cell || !("to" in cell) || cell.to !== next)
        found.push(`approval ${id} went from ${now} to ${next} by ${event}`);
      now = next;
    }
    if (now !== state) found.push(`approval ${id} is ${state}, and its audit says ${now}`);
  }
  return found;
}

/** A call that was approved took effect once, and any other never. */
function checkApproval(approval: Approval, chat: ChatState): string[] {
  const { audit, effects, messages } = chat;
  const { id, state, toolName, idempotencyKey, resolvedBy, decidedAt, innerSession } = approval;
  const times = effects.get(idempotencyKey) ?? 0;
  const wrong = (what: string) => [
    `${toolName} call ${id} is ${state}${resolvedBy ? " by resolution" : ""}, and ${what}`,
  ];
  const events = new Set(audit.filter(({ approvalId }) => approvalId === id).map(({ event }) => event));
  if (times > 0 && !events.has("approve")) return wrong("took effect without a yes");
  if (times > 1) return wrong(`took effect ${times} times`);
  // What the clerk does is in the rows of its calls. A page has its effects in the browser.
  const hasEffect = innerSession === undefined && toolName !== "page";
  const isReported = toolName === "reported" || toolName === "page";
  // Whoever reports a call may know more of it than a node that died in the middle.
  const isCertain = !isReported || events.has("begin");
  switch (state) {
    case "succeeded":
      return times === 1 || !hasEffect || !isCertain || resolvedBy !== undefined ? [] : wrong("took no effect");
    case "failed":
      return resolvedBy === undefined && !isReported
        ? wrong(`no tool here fails: ${JSON.stringify(approval.outcome)}`)
        : [];
    case "indeterminate":
      if (toolName !== "opaque" && toolName !== "reported") return wrong("its outcome could have been found out");
      return isShown(id, state, messages) ? [] : wrong("no message says so");
    case "denied":
    case "expired":
    case "cancelled":
      if (times > 0) return wrong("took effect");
      // Nothing that happens in a chat takes back a yes.
      return state === "cancelled" && events.has("approve") && hasEffect ? wrong("was approved before") : [];
    default:
      return wrong(
        `was ${decidedAt === undefined ? "never decided" : "never finished"}:\n${JSON.stringify(approval)}\n${describeHistory(chat, approval)}`,
      );
  }
}

/**
 * The model was told each result once: in the response to the call, or, if it came later, in a note. In live mode a late
 * response comes with a note about it.
 */
function checkTold(chat: ChatState): string[] {
  const shown = new Set(chat.messages.map(({ message }) => message.id));
  return findTellings(chat).flatMap(({ approval, responses, notes, isKnown }) => {
    const { id, toolName, told, messageId } = approval;
    const wrong = (what: string) => [
      `the model was told the result of ${toolName} call ${id} ${what}:\n${JSON.stringify(approval)}\n${describeHistory(chat, approval)}`,
    ];
    if (responses > 1 || notes > 1) return wrong(`in ${responses} responses and ${notes} notes`);
    return told && shown.has(messageId) && !isKnown ? wrong("never, although it counts as told") : [];
  });
}

/**
 * Calls with a result that occurs nowhere else, and how often the model's history has it. A message that is said again asks
 * for the same job again, so responses and notes are told apart by their calls.
 */
export function findTellings({ approvals, events }: ChatState) {
  const eventsOf = (session: string) =>
    (events.get(session) ?? []).map(({ event }) => event as { content?: Content; customMetadata?: { about?: string } });
  return approvals.flatMap((approval) => {
    const { input, outcome, session, chat, innerSession, toolCallId } = approval;
    // What the clerk says is not a result, and what its calls brought about has rows of its own.
    if (innerSession !== undefined) return [];
    const result = JSON.stringify(resultOf((JSON.parse(input) as { name: string }).name));
    const has = (value: unknown) => JSON.stringify(value ?? "").includes(result);
    if (!has(outcome)) return [];
    const responses = eventsOf(session)
      .flatMap(({ content }) => content?.parts ?? [])
      .filter(({ functionResponse }) => functionResponse?.id === toolCallId && has(functionResponse)).length;
    // A note is text, and has the result as JSON.
    const notes = eventsOf(chat).filter(
      ({ content, customMetadata }) =>
        customMetadata?.about === toolCallId && content?.parts?.some(({ text }) => text?.includes(result)),
    ).length;
    // The response of the clerk tells what it had done if it could not finish.
    const isKnown = [...events.values()]
      .flat()
      .some(({ event }) => JSON.stringify(event).includes(result.slice(1, -1)));
    return [{ approval, responses, notes, isKnown }];
  });
}

/** The parts of the history that are about a call, with their places, and what is in the log. */
function describeHistory({ events, log }: ChatState, { input, toolCallId }: Approval): string {
  const { name = toolCallId } = JSON.parse(input) as { name?: string };
  const found = [...events].flatMap(([session, stored]) =>
    stored
      .map((each) => `${session.slice(-4)}/${each.position} ${JSON.stringify(each.event)}`)
      .filter((text) => text.includes(name) || text.includes(toolCallId)),
  );
  return [...found, describeLog(log)].join("\n");
}

/** True if a message shows the state, or if the message of the call has been withdrawn. */
function isShown(approval: string, state: string, messages: readonly StoredMessage[]): boolean {
  const shown = messages.flatMap(({ message }) =>
    message.parts.flatMap((part) => (part.type === "data-approval" && part.id === approval ? [part.data] : [])),
  );
  return shown.length === 0 || shown.some((data) => (data as { state: string }).state === state);
}

function textOf({ parts }: UIMessage): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

const keyOf = (id: string, text: string) => JSON.stringify([id, text]);
const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
