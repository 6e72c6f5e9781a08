import { ifPossible } from "../client/if-possible.ts";
import { useCard } from "./card-parts.tsx";
import { VisibleText } from "./visible-text.tsx";

/** Deeper values are written on one line: the space before their lines would be longer than the value. */
const deepest = 40;

/** A value as JSON; undefined if it is nested so deeply that it cannot be written. */
export function toJson(value: unknown): string | undefined {
  return ifPossible(() => JSON.stringify(value, null, isDeep(value, deepest) ? 0 : 2) ?? String(value));
}

/** Whether a value has more than this number of levels. */
export function isDeep(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeep(inner, levels - 1));
}

/** A whole value as JSON. */
export function JsonBlock({ value, label }: { value: unknown; label: string }) {
  return <JsonText text={toJson(value) ?? "…"} label={label} />;
}

/** A text of JSON, or its beginning, line by line. Line breaks inside a string are shown as they are in JSON. */
export function JsonText({ text, label }: { text: string; label: string }) {
  const { part } = useCard();
  return (
    <pre {...part("json")} aria-label={label} role="group">
      {text.split("\n").map((line, index) => (
        <span key={index}>
          <VisibleText text={line} />
          {"\n"}
        </span>
      ))}
    </pre>
  );
}
