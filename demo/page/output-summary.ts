import { isLargeOutput } from "adk-stream-protocol/protocol";

const lengthShown = 80;

/** A tool's result in a few words. The page shows the whole result after a click. */
export function outputSummary(output: unknown): string {
  if (typeof output !== "object" || output === null) return short(String(output));
  if (isLargeOutput(output)) return short(output.preview.replaceAll(/\s+/g, " "));
  const fields = output as Record<string, unknown>;
  const temperature = fields["temperature"] ?? fields["temperature_c"];
  if (typeof temperature === "number") {
    const sky = fields["condition"] ?? fields["conditions"];
    return typeof sky === "string" ? `${temperature}° ${sky}` : `${temperature}°`;
  }
  return short(
    Object.entries(fields)
      .filter(([, value]) => typeof value !== "object")
      .map(([key, value]) => `${key} ${String(value)}`)
      .join(", ") || JSON.stringify(output),
  );
}

function short(text: string): string {
  const characters = Array.from(text);
  return characters.length > lengthShown ? `${characters.slice(0, lengthShown).join("")}…` : text;
}
