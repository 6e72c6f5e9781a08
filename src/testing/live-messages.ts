import { z } from "zod";
import { content, tools } from "./read-ask.ts";

const functionResponse = z.looseObject({
  id: z.string().optional(),
  name: z.string().optional(),
  response: z.record(z.string(), z.unknown()).optional(),
  scheduling: z.string().optional(),
});

const setup = z.looseObject({
  model: z.string(),
  systemInstruction: content.optional(),
  tools: tools.optional(),
  sessionResumption: z.looseObject({ handle: z.string().optional() }).optional(),
});

const liveClientMessage = z
  .looseObject({
    setup: setup.optional(),
    clientContent: z
      .looseObject({ turns: z.array(content).optional(), turnComplete: z.boolean().optional() })
      .optional(),
    realtimeInput: z.looseObject({ text: z.string().optional() }).optional(),
    toolResponse: z.looseObject({ functionResponses: z.array(functionResponse).optional() }).optional(),
  })
  .refine(
    ({ setup: first, clientContent, realtimeInput, toolResponse }) =>
      [first, clientContent, realtimeInput, toolResponse].filter((field) => field !== undefined).length === 1,
    "a message is one of setup, clientContent, realtimeInput, toolResponse",
  );

/** A message of a live client: exactly one of these fields. Fields that no script reads are kept as they came. */
export type LiveClientMessage = z.infer<typeof liveClientMessage>;
/** The first message of a live session. */
export type LiveSetup = z.infer<typeof setup>;
/** The response to one call. */
export type LiveFunctionResponse = z.infer<typeof functionResponse>;

/** Reads a message of a client. Returns a sentence if it is not one. */
export function parseLiveMessage(text: string): LiveClientMessage | string {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return "Invalid JSON payload received.";
  }
  const parsed = liveClientMessage.safeParse(json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  return `Invalid value at '${issue?.path.join(".")}': ${issue?.message}.`;
}
