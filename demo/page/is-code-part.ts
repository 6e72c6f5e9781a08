import type { UIMessage } from "ai";

/** Code that the model ran in its own sandbox, or what came of it. */
export type CodePart =
  | { type: "data-executable-code"; data: { language?: unknown; code?: unknown } }
  | { type: "data-code-execution-result"; data: { outcome?: unknown; output?: unknown } };

export function isCodePart(part: UIMessage["parts"][number]): boolean {
  return part.type === "data-executable-code" || part.type === "data-code-execution-result";
}
