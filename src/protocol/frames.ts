import { z } from "zod";
import { BridgeError } from "./errors.ts";

/**
 * What clients may send, typed once. Unknown fields are accepted (newer AI SDKs add some), unknown shapes of what we read
 * are not.
 */

const id = z
  .string()
  .min(1)
  .max(256)
  // eslint-disable-next-line no-control-regex -- naming the control characters is the point
  .regex(/^[^\u0000-\u001f\u007f]*$/, "must not contain control characters");

const part = z.looseObject({ type: z.string() });

/** A message as AI SDK sends it (`parts`), or as the seeds do (`content`, perhaps without an id). */
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

/** The body of `POST /stream`, as `DefaultChatTransport` sends it. */
const chatRequestSchema = z.looseObject({
  id,
  messages: z.array(message).min(1),
  trigger: z.enum(["submit-message", "regenerate-message"]).default("submit-message"),
  messageId: z.string().max(256).nullish(),
});
export type ChatRequest = z.output<typeof chatRequestSchema>;
export type ChatRequestMessage = ChatRequest["messages"][number];

/** The body of `POST /approvals/:id`. */
const decisionRequestSchema = z.looseObject({
  approved: z.boolean(),
  reason: z.string().max(4000).optional(),
  key: z.string().min(1).max(256).optional(),
});
export type DecisionRequest = z.output<typeof decisionRequestSchema>;

export const parseChatRequest = (body: unknown): ChatRequest => parseWith(chatRequestSchema, body);
export const parseDecisionRequest = (body: unknown): DecisionRequest => parseWith(decisionRequestSchema, body);

function parseWith<T>(schema: z.ZodType<T>, body: unknown): T {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const where = issue?.path.length ? issue.path.join(".") : "the body";
  throw new BridgeError("invalid", `${where}: ${issue?.message ?? "not what was expected"}.`);
}
