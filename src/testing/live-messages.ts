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

/** What a live client sends: one of these per message. What a script does not look into is kept as it came. */
export const liveClientMessage = z
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

export type LiveClientMessage = z.infer<typeof liveClientMessage>;
export type LiveSetup = z.infer<typeof setup>;
export type LiveFunctionResponse = z.infer<typeof functionResponse>;
