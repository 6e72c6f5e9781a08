import type { UIMessage } from "ai";
import type { ApprovalData } from "../../protocol/index.ts";
import { newId } from "../support/index.ts";

type Part = UIMessage["parts"][number];
type Fields = Record<string, unknown>;

const sentences = {
  question: "The chat was exported before this question was answered; the call was not run.",
  call: "The chat was exported before this call had a result.",
  denied: "The call was not run.",
} as const;

/** Longer error texts and reasons are cut. */
const maxText = 4000;
const maxId = 256;

/**
 * A message of an exported chat as this server may store it. The file comes from a client, so only known fields are taken:
 * words, pictures by value, and the results of calls. A question without an answer comes back as cancelled. Approvals get new ids,
 * and names of people are left out: no one has decided anything here. Throws a sentence about the first thing that is wrong.
 */
export function importedMessage(value: unknown): UIMessage {
  const { id, role, parts } = fieldsOf(value, "message");
  if (!isId(id)) throw new Error(`message.id must be text of 1 to ${maxId} characters without control characters.`);
  if (role !== "user" && role !== "assistant") throw new Error('message.role must be "user" or "assistant".');
  if (!Array.isArray(parts)) throw new Error("message.parts must be a list.");
  const take = role === "user" ? userPart : assistantPart;
  return { id, role, parts: parts.flatMap((part, index) => take(fieldsOf(part, `message.parts.${index}`))) };
}

function userPart(part: Fields): Part[] {
  if (part["type"] === "text") return [{ type: "text", text: textOf(part, "text") }];
  return part["type"] === "file" ? filePart(part) : [];
}

function assistantPart(part: Fields): Part[] {
  const { type } = part;
  switch (type) {
    case "text":
    case "reasoning":
      return [{ type, text: textOf(part, "text"), state: "done" }];
    case "step-start":
      return [{ type }];
    case "file":
      return filePart(part);
    case "source-url": {
      const url = textOf(part, "url");
      if (!/^https?:\/\//i.test(url)) return [];
      return [{ type, sourceId: textOf(part, "sourceId"), url, ...optional(part, "title") }];
    }
    default:
      return typeof type === "string" && (type.startsWith("tool-") || type === "dynamic-tool") ? toolPart(part) : [];
  }
}

/** A file by value. An address could lead the server or a reader anywhere. */
function filePart(part: Fields): Part[] {
  const url = textOf(part, "url");
  if (!/^data:/i.test(url)) return [];
  return [{ type: "file", url, mediaType: textOf(part, "mediaType"), ...optional(part, "filename") }];
}

function toolPart(part: Fields): Part[] {
  const type = textOf(part, "type");
  const { toolCallId, state } = part;
  const toolName = type === "dynamic-tool" ? textOf(part, "toolName") : type.slice("tool-".length);
  if (!isId(toolCallId) || !isId(toolName)) throw new Error("a tool part needs a toolCallId and the name of its tool.");
  const call = { type, ...(type === "dynamic-tool" && { toolName }), toolCallId, input: part["input"] ?? {} };
  const of = (fields: Fields): Part => ({ ...call, ...fields }) as unknown as Part;
  if (state === "output-available" && part["preliminary"] !== true)
    return [of({ state, output: part["output"] ?? null })];
  if (state === "output-error") return [of({ state, errorText: shortText(part["errorText"], sentences.call) })];
  const asked = isFields(part["approval"]) ? part["approval"] : undefined;
  const id = newId("apr");
  if (state === "output-denied") {
    const reason = shortText(asked?.["reason"], sentences.denied);
    return [of({ state, approval: { id, approved: false, reason } })];
  }
  if (state !== "approval-requested") return [of({ state: "output-error", errorText: sentences.call })];
  const errorText = sentences.question;
  const data: ApprovalData = { approvalId: id, toolCallId, toolName, state: "cancelled", errorText };
  return [
    of({ state: "output-denied", approval: { id, approved: false, reason: errorText } }),
    { type: "data-approval", id, data },
  ];
}

function fieldsOf(value: unknown, where: string): Fields {
  if (!isFields(value)) throw new Error(`${where} must be an object.`);
  return value;
}

function textOf(part: Fields, field: string): string {
  const text = part[field];
  if (typeof text !== "string") throw new Error(`the ${field} of a ${String(part["type"])} part must be text.`);
  return text;
}

function optional(part: Fields, field: "title" | "filename"): Fields {
  return typeof part[field] === "string" ? { [field]: part[field].slice(0, maxText) } : {};
}

function shortText(text: unknown, otherwise: string): string {
  return typeof text === "string" && text !== "" ? text.slice(0, maxText) : otherwise;
}

function isId(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= maxId && !/\p{Cc}|\p{Surrogate}/u.test(value);
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
