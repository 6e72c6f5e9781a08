import { VisibleText } from "./visible-text.tsx";

/** A whole value as JSON, line by line. Line breaks inside a string are shown as marks. */
export function JsonBlock({ value, label }: { value: unknown; label: string }) {
  return <JsonText text={toJson(value)} label={label} />;
}

/** A value as the text that `JsonText` draws. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? String(value);
}

/** A text of JSON, or its beginning. */
export function JsonText({ text, label }: { text: string; label: string }) {
  return (
    <pre className="json" aria-label={label} role="group">
      {text.split("\n").map((line, index) => (
        <span key={index}>
          <VisibleText text={line} />
          {"\n"}
        </span>
      ))}
    </pre>
  );
}
