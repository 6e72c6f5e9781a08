import { isLargeOutput } from "../protocol/large-output.ts";

const lengthShown = 80;

/** A tool's result in a few words. The card shows the whole result after a click. */
export function outputSummary(output: unknown): string {
  if (typeof output !== "object" || output === null) return short(String(output));
  if (isLargeOutput(output)) return short(output.preview.replaceAll(/\s+/g, " "));
  const simple = Object.entries(output)
    .filter(([, value]) => typeof value !== "object")
    .map(([key, value]) => `${key} ${String(value)}`);
  return simple.length > 0 ? short(simple.join(", ")) : "";
}

/** What a tool said when it had begun: its `message` or `status`, or else a summary. */
export function interimText(interim: unknown): string {
  if (interim === undefined || interim === null) return "";
  const { message, status } = Object(interim) as { message?: unknown; status?: unknown };
  for (const text of [message, status]) if (typeof text === "string" && text !== "") return text;
  return outputSummary(interim);
}

function short(text: string): string {
  const characters = Array.from(text.slice(0, lengthShown * 2 + 2));
  return characters.length > lengthShown ? `${characters.slice(0, lengthShown).join("")}…` : text;
}
