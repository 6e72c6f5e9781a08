import { VisibleText } from "./visible-text.tsx";

/** A whole value as JSON, line by line. Line breaks inside a string are shown as marks. */
export function JsonBlock({ value, label }: { value: unknown; label: string }) {
  const lines = (JSON.stringify(value, null, 2) ?? String(value)).split("\n");
  return (
    <pre className="json" aria-label={label} role="group">
      {lines.map((line, index) => (
        <span key={index}>
          <VisibleText text={line} />
          {"\n"}
        </span>
      ))}
    </pre>
  );
}
