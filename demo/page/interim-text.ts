import { outputSummary } from "./output-summary.ts";

/** What a tool said when it had begun: its `message` or `status`, or else a summary. */
export function interimText(interim: unknown): string | undefined {
  if (interim === undefined || interim === null) return undefined;
  const { message, status } = Object(interim) as { message?: unknown; status?: unknown };
  for (const text of [message, status]) if (typeof text === "string" && text !== "") return text;
  return outputSummary(interim);
}
