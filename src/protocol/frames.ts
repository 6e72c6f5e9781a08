import { z } from "zod";
import { BridgeError, type ErrorCode } from "./errors.ts";
import { quote } from "./quote.ts";

/**
 * What clients may send, typed once. Unknown fields are accepted, because newer AI SDKs add some; fields that are read
 * must have the right type.
 */

/** A string that must be there. Zod's own sentence about one that is missing does not say what it is for. */
const textThat = (does: string) =>
  z.string({ error: ({ input }) => (input === undefined || input === null ? `is missing; it ${does}` : undefined) });
const idThat = (does: string) =>
  textThat(does)
    .min(1)
    .max(256)
    // eslint-disable-next-line no-control-regex -- naming the control characters is the point
    .regex(/^[^\u0000-\u001f\u007f]*$/, "must not contain control characters");

const id = idThat("names the chat");
const toolCallId = idThat("names the call or the approval");

const part = z.looseObject({ type: z.string() });

/** A message as AI SDK sends it (`parts`), or with `content` instead, and then perhaps without an id. */
const message = z
  .looseObject({
    id: z.string().max(256).optional(),
    role: z.enum(["user", "assistant", "system", "tool"]),
    parts: z.array(part).optional(),
    content: z.union([z.string(), z.array(part)]).optional(),
  })
  .transform(({ id: messageId, role, parts, content }) => ({
    id: messageId === "" ? undefined : messageId,
    role,
    parts: parts ?? (typeof content === "string" ? [{ type: "text", text: content }] : (content ?? [])),
  }));

/** The body of `POST /stream`, as `DefaultChatTransport` sends it. Other clients send no id. */
const chatRequest = {
  id,
  messages: z.array(message).min(1),
  trigger: z.enum(["submit-message", "regenerate-message"]).default("submit-message"),
  messageId: z.string().max(256).nullish(),
};
const chatRequestSchema = z.looseObject({
  ...chatRequest,
  id: id.optional(),
  /** True if the stream of the reply shall stay open while a call waits, and go on with what follows the answer. */
  hold: z.boolean().optional(),
});
/** What a client asks for with `POST /stream`: a message, answers, or another reply. PROTOCOL.md §1 has every field. */
export type ChatRequest = z.output<typeof chatRequestSchema>;
/** One message of a chat request, with `parts` also if the client sent `content`. */
export type ChatRequestMessage = ChatRequest["messages"][number];

/**
 * The body of `POST /approvals/:id`. Other fields are refused: a client that sends an `input` believes that it decides
 * what runs.
 */
const decisionRequestSchema = z.strictObject({
  approved: z.boolean(),
  reason: z.string().max(4000).optional(),
  key: z.string().min(1).max(256).optional(),
});
/** A decision as `POST /approvals/:id` takes it: `approved`, and perhaps a `reason` and a `key` that makes it repeatable. */
export type DecisionRequest = z.output<typeof decisionRequestSchema>;

/** The body of `POST /calls/:key`: what became of a call that has begun. */
const reportRequestSchema = z.union(
  [
    z.looseObject({ result: z.json(), error: z.undefined().optional() }),
    z.looseObject({ error: z.string().min(1).max(4000), result: z.undefined().optional() }),
  ],
  "has either a result or an error, which is text",
);
/** What became of a call that has begun: a `result` or an `error`. */
export type ReportRequest = z.output<typeof reportRequestSchema>;

/** The body of `POST /stream/:id/results`: the result of a browser tool's call. */
const resultRequestSchema = z.union(
  [
    z.looseObject({ toolCallId, result: z.json(), error: z.undefined().optional() }),
    z.looseObject({ toolCallId, error: z.string().min(1).max(4000), result: z.undefined().optional() }),
  ],
  "has a toolCallId, and either a result or an error, which is text",
);
export type ResultRequest = z.output<typeof resultRequestSchema>;

/** The body of `POST /approvals/:id/resolution`: what became of a call whose outcome is not known. */
const resolutionRequestSchema = z.looseObject({
  happened: z.boolean(),
  outcome: z.json().optional(),
  reason: z.string().max(4000).optional(),
});
/** What a person says became of a call whose outcome is not known. */
export type ResolutionRequest = z.output<typeof resolutionRequestSchema>;

/** The body of `PATCH /chats/:id`. */
const chatChangeSchema = z.looseObject({ title: z.string().max(4000) });
/** What a client may change about a chat: its `title`. */
export type ChatChange = z.output<typeof chatChangeSchema>;

const requestId = z.string().max(256);
const sequence = z.int().nonnegative();

/** The client's frames on the chat wire of `WS /live`. With a `requestId` the client learns which turn it caused. */
const bridgeFrameSchema = z.discriminatedUnion("type", [
  z.looseObject({
    type: z.literal("message"),
    ...chatRequest,
    id: id.optional(),
    requestId: requestId.optional(),
    /** True when the client does not know whether this message arrived before. */
    resend: z.boolean().optional(),
  }),
  z.looseObject({
    type: z.literal("tool_result"),
    toolCallId,
    result: z.unknown().refine((value) => value !== undefined, "is missing"),
    id: id.optional(),
    requestId: requestId.optional(),
  }),
  z.looseObject({ type: z.literal("attach"), id, after: sequence.optional() }),
  z.looseObject({ type: z.literal("interrupt"), reason: z.string().max(4000).nullish() }),
  z.looseObject({ type: z.literal("ping"), timestamp: z.union([z.number(), z.string().max(256)]) }),
  z.looseObject({ type: z.literal("audio_control") }),
  z.looseObject({ type: z.literal("audio_chunk") }),
]);
/** A client's frame on the chat wire. PROTOCOL.md §5 has each kind. */
export type BridgeFrame = z.output<typeof bridgeFrameSchema>;

const answeredId = textThat("tells the reply to this frame from others").max(256);

/**
 * The client's frames on the AI SDK wire: those of AI SDK 7's `WebSocketChatTransport`. Their `headers`, `body` and
 * `metadata` are ignored.
 */
const aiSdkFrameSchema = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("send"), ...chatRequest, requestId: answeredId }),
  z.looseObject({ type: z.literal("resume"), id, requestId: answeredId }),
  z.looseObject({ type: z.literal("abort"), requestId: answeredId }),
]);
/** A client's frame on the wire of AI SDK 7's own `WebSocketChatTransport`. */
export type AiSdkFrame = z.output<typeof aiSdkFrameSchema>;

/** What a client may send on `WS /live`. */
export type ClientFrame = BridgeFrame | AiSdkFrame;

/**
 * The server's JSON frames on the chat wire; chunks are server-sent events instead. All but `pong` and `attached` go only
 * to clients with `?sequence=1`.
 */
export type ControlFrame =
  | { type: "pong"; timestamp: number | string }
  | { type: "attached"; id: string; sequence: number; running: boolean }
  | { type: "turn"; turn: string; reply: string; sequence: number }
  | { type: "parked"; turn: string; sequence: number }
  | { type: "deleted"; id: string }
  | { type: "withdrawn"; from: string; sequence: number }
  | { type: "accepted"; requestId: string; turn: string }
  | { type: "refused"; requestId: string; code: ErrorCode; message: string; /** In seconds. */ retryAfter?: number };

/** The version that frames of the chat wire carry. */
export const frameVersion = "1.0";

const bridgeTypes: ReadonlySet<unknown> = new Set<BridgeFrame["type"]>([
  "message",
  "tool_result",
  "attach",
  "interrupt",
  "ping",
  "audio_control",
  "audio_chunk",
]);
const aiSdkTypes: ReadonlySet<unknown> = new Set<AiSdkFrame["type"]>(["send", "resume", "abort"]);

/** Parses a frame of either wire. On the chat wire the fields are at the top level or inside `data`. */
export function parseFrame(value: unknown): ClientFrame {
  if (!isObject(value))
    throw new BridgeError("invalid", `A frame must be a JSON object with a type, not ${quote(value)}.`);
  if (aiSdkTypes.has(value["type"])) return parseWith(aiSdkFrameSchema, withId(value), "the frame");
  const { data, ...outside } = value;
  const frame = isObject(data) ? { ...data, ...outside } : outside;
  const version = frame["version"] ?? frameVersion;
  if (version !== frameVersion)
    throw new BridgeError(
      "invalid",
      `This server speaks version "${frameVersion}" of the frames; ${quote(version)} came.`,
    );
  const { type } = frame;
  if (!bridgeTypes.has(type)) {
    const problem = type === undefined ? "The frame has no type" : `There is no frame of type ${quote(type)}`;
    throw new BridgeError("invalid", `${problem}; the types are ${[...bridgeTypes, ...aiSdkTypes].join(", ")}.`);
  }
  return parseWith(bridgeFrameSchema, withId(frame), "the frame");
}

/** True if a frame is one of AI SDK's, also when `parseFrame` refuses it. */
export function isAiSdkFrame(value: unknown): boolean {
  return isObject(value) && aiSdkTypes.has(value["type"]);
}

/** The `requestId` of a frame, also when `parseFrame` refuses the frame. */
export function requestIdOf(value: unknown): string | undefined {
  if (!isObject(value)) return undefined;
  const { data } = value;
  const named = value["requestId"] ?? (isObject(data) ? data["requestId"] : undefined);
  return requestId.safeParse(named).data;
}

/** Parses the body of `POST /stream`. Throws `invalid` with a sentence that names the wrong field. */
export const parseChatRequest = (body: unknown): ChatRequest => parseWith(chatRequestSchema, withId(body));
/** Parses the body of `POST /approvals/:id`. */
export const parseDecisionRequest = (body: unknown): DecisionRequest => parseWith(decisionRequestSchema, body);
/** Parses the body of `POST /calls/:key`. */
export const parseReportRequest = (body: unknown): ReportRequest => parseWith(reportRequestSchema, body);
/** Parses the body of `POST /stream/:id/results`. */
export const parseResultRequest = (body: unknown): ResultRequest => parseWith(resultRequestSchema, body);
/** Parses the body of `POST /approvals/:id/resolution`. */
export const parseResolutionRequest = (body: unknown): ResolutionRequest => parseWith(resolutionRequestSchema, body);

/** Parses the body of `PATCH /chats/:id`. */
export const parseChatChange = (body: unknown): ChatChange => parseWith(chatChangeSchema, body);

/** Some clients call the id of the chat `chatId`. */
function withId(value: unknown): unknown {
  if (!isObject(value) || value["id"] !== undefined || value["chatId"] === undefined) return value;
  return { ...value, id: value["chatId"] };
}

function parseWith<T>(schema: z.ZodType<T>, body: unknown, whole = "the body"): T {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const where = issue?.path.length ? issue.path.join(".") : whole;
  throw new BridgeError("invalid", `${where}: ${issue?.message ?? "not what was expected"}.`);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
