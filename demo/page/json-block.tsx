import { VisibleText } from "./visible-text.tsx";

/** A value in full, line by line; the line breaks between lines are ours, those inside a string are marked. */
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
