import type { ModelSide } from "./debug-api.ts";

/** A line about the model: a request to it, or an event of its session. */
export type ModelRow = { key: string; at: number; detail: unknown } & (
  | { kind: "asked"; contents: number; tools: number }
  | { kind: "event"; author: string; text: string }
);

/** Requests and events in the order of time. An event that says nothing to the model is left out. */
export function modelRows({ requests, events }: ModelSide): ModelRow[] {
  const asked = requests.map((request, index): ModelRow => ({
    key: `request ${index}`,
    at: request.at,
    kind: "asked",
    contents: request.contents.length + request.earlier,
    tools: request.tools.length,
    detail: request,
  }));
  const said = events.flatMap((event, index): ModelRow[] => {
    const text = partsToText(event["content"]);
    if (text === "") return [];
    const { author, timestamp } = event;
    const at = typeof timestamp === "number" ? timestamp : 0;
    return [
      {
        key: `event ${index}`,
        at,
        kind: "event",
        author: typeof author === "string" ? author : "",
        text,
        detail: event["content"],
      },
    ];
  });
  return [...said, ...asked].toSorted((one, other) => one.at - other.at);
}

/** The parts of a content in one line. */
function partsToText(content: unknown): string {
  const { parts } = Object(content ?? {}) as { parts?: unknown };
  if (!Array.isArray(parts)) return "";
  return parts
    .map((part) => partToText(Object(part ?? {}) as Record<string, unknown>))
    .filter((text) => text !== "")
    .join(" · ")
    .slice(0, 300);
}

function partToText(part: Record<string, unknown>): string {
  if (typeof part["text"] === "string") return part["text"].trim();
  const { name: called, args } = Object(part["functionCall"] ?? {}) as { name?: string; args?: unknown };
  if (called !== undefined) return `${called}(${JSON.stringify(args ?? {})})`;
  const { name: returned, response } = Object(part["functionResponse"] ?? {}) as { name?: string; response?: unknown };
  if (returned !== undefined) return `${returned} → ${JSON.stringify(response ?? {})}`;
  return Object.keys(part).join(", ");
}
