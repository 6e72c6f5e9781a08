import type { UIMessage } from "ai";
import type { Answer, Submission } from "../agent/index.ts";
import { BridgeError, type ChatRequest, type ChatRequestMessage } from "../protocol/index.ts";
import { quote } from "../protocol/quote.ts";
import { UnreadJson } from "../protocol/unread-json.ts";

/**
 * What a chat request means. Clients send their whole history; only the new part is read: the last message, or the one
 * that `messageId` names. Every form in which a client can answer an approval (PROTOCOL.md §3) becomes an `Answer` here
 * and nowhere else.
 */
export function interpret(
  request: Pick<ChatRequest, "messages" | "trigger" | "messageId">,
  newId: () => string = () => crypto.randomUUID(),
): Submission {
  const { messages, trigger } = request;
  const messageId = request.messageId ?? undefined;
  const last = messages.at(-1);
  // Without `messageId` the list says which reply is meant: stock clients have removed it.
  if (trigger === "regenerate-message") return { type: "regenerate", messageId, ...(!messageId && { last: last?.id }) };
  if (!last) throw new BridgeError("invalid", "messages must contain at least one message.");
  const named =
    messageId === undefined ? undefined : messages.find(({ id, role }) => id === messageId && role === "assistant");
  const source = named ?? last;
  const answers = source.parts.flatMap((part) => partToAnswer(part) ?? []);
  if (source.role === "assistant") return { type: "answers", answers, messageId: source.id };
  const [answer] = answers;
  if (!answer) {
    const after = messages.at(-2)?.id;
    return { type: "message", message: toUserMessage(last, newId), ...(after !== undefined && { after }) };
  }
  if (last.parts.some((part) => part.type === "text" && part["text"]))
    throw new BridgeError(
      "invalid",
      `A message must contain text or answers, not both; this one has text and an answer to ${answer.id}. Nothing was decided.`,
    );
  return { type: "answers", answers };
}

type Part = ChatRequestMessage["parts"][number];

function partToAnswer(part: Part): Answer | undefined {
  if (part.type === "tool-result") return resultToAnswer(part["toolCallId"], part["result"]);
  const name =
    part.type === "dynamic-tool" ? part["toolName"] : part.type.startsWith("tool-") ? part.type.slice(5) : undefined;
  const toolCallId = part["toolCallId"];
  const approval = isObject(part["approval"]) ? part["approval"] : undefined;
  if (name === "adk_request_confirmation") return confirmationToAnswer(part, toolCallId ?? approval?.["id"], approval);
  if (typeof name !== "string" || typeof toolCallId !== "string") return undefined;

  const result = outputOf(part);
  if (approval && "approved" in approval) {
    if (part["state"] === "output-denied") return undefined;
    const id = typeof approval["id"] === "string" ? approval["id"] : toolCallId;
    return { id, ...decision(approval["approved"], approval["reason"], id), ...(result && { result }) };
  }
  return result && { id: toolCallId, result };
}

/** A part of the second dialect: the confirmation is a tool call of its own whose id is the approval's. */
function confirmationToAnswer(
  part: Part,
  id: unknown,
  approval: Record<string, unknown> | undefined,
): Answer | undefined {
  if (typeof id !== "string") return undefined;
  if (approval && "approved" in approval) return { id, ...decision(approval["approved"], approval["reason"], id) };
  const { output } = part;
  if (isObject(output)) return { id, ...decision(output["confirmed"], output["reason"], id) };
  // A finished part without a decision is refused: if it were ignored, stock chats would send it again for ever.
  if (output !== undefined || part["state"] === "output-error") return { id, ...decision(output, undefined, id) };
  return undefined;
}

/**
 * An answer outside the call's own part, as a `tool-result` part or a `tool_result` frame: `{confirmed}` for the
 * confirmation's id, `{approved, user_message}` for the call's own id, or the result of a browser tool.
 */
export function resultToAnswer(id: unknown, result: unknown): Answer {
  if (typeof id !== "string")
    throw new BridgeError("invalid", `The toolCallId of a tool-result must be a string, not ${quote(id)}.`);
  if (isObject(result) && "confirmed" in result) return { id, ...decision(result["confirmed"], result["reason"], id) };
  if (isObject(result) && "approved" in result)
    return { id, ...decision(result["approved"], result["user_message"], id) };
  // The form in which tools themselves report a failure.
  if (isObject(result) && Object.keys(result).length === 1 && typeof result["error"] === "string")
    return { id, result: { errorText: result["error"].slice(0, 4000) } };
  return { id, result: { output: result } };
}

function outputOf(part: Part): Answer["result"] {
  const { output } = part;
  if (part["state"] === "output-available" && part["preliminary"] !== true)
    return output instanceof UnreadJson ? { unread: output } : { output };
  if (part["state"] === "output-error")
    return { errorText: textOr(part["errorText"], "The tool failed in the browser.").slice(0, 4000) };
  return undefined;
}

/** Only `true` and `false` decide. */
function decision(approved: unknown, reason: unknown, id: string): Pick<Answer, "approved" | "reason"> {
  if (typeof approved !== "boolean")
    throw new BridgeError("invalid", `The answer to ${id} must be true or false; ${quote(approved)} decides nothing.`);
  if (typeof reason !== "string" || reason === "") return { approved };
  if (reason.length > 4000)
    throw new BridgeError("too_large", `The reason for ${id} is longer than 4000 characters: it has ${reason.length}.`);
  return { approved, reason };
}

function toUserMessage({ id, role, parts }: ChatRequestMessage, newId: () => string): UIMessage {
  if (role !== "user")
    throw new BridgeError("invalid", `The last message must be from the user or the assistant, not from ${role}.`);
  const kept = parts.flatMap((part): UIMessage["parts"] => {
    if (part.type === "text" && typeof part["text"] === "string" && part["text"] !== "")
      return [{ type: "text", text: part["text"] }];
    const { url, mediaType, filename, data, media_type: imageType } = part;
    if (part.type === "file" && typeof url === "string" && typeof mediaType === "string")
      return [{ type: "file", url, mediaType, ...(typeof filename === "string" && { filename }) }];
    if (part.type === "image" && typeof data === "string" && typeof imageType === "string")
      return [{ type: "file", url: `data:${imageType};base64,${data}`, mediaType: imageType }];
    return [];
  });
  if (kept.length === 0) throw new BridgeError("invalid", "The last message is empty: it needs text or a file.");
  return { id: id ?? newId(), role: "user", parts: kept };
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === "string" && value !== "" ? value : otherwise;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
