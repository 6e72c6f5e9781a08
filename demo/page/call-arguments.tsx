import { money } from "./format.ts";
import { JsonBlock } from "./json-block.tsx";
import { useWords } from "./preferences.ts";
import { VisibleText } from "./visible-text.tsx";

/** Every stored argument in full, as text. */
export function CallArguments({ input }: { input: unknown }) {
  const { t, language } = useWords();
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    return input === undefined ? null : <JsonBlock value={input} label={t.arguments} />;
  }
  const fields = input as Record<string, unknown>;
  const names = Object.keys(fields).toSorted((a, b) => rankOf(a) - rankOf(b));
  if (names.length === 0) return null;
  return (
    <dl className="fields">
      {names.map((name) => {
        const sum = name === "amount" ? money(fields[name], fields["currency"] ?? "USD", language) : undefined;
        return (
          <div key={name} className={sum ? "field field-sum" : "field"}>
            <dt>
              <VisibleText text={name} />
            </dt>
            <dd>{sum ?? <Value value={fields[name]} label={name} />}</dd>
          </div>
        );
      })}
    </dl>
  );
}

/** Amount and recipient come first; the other arguments keep their order. */
function rankOf(name: string): number {
  return name === "amount" ? 0 : name === "recipient" ? 1 : 2;
}

function Value({ value, label }: { value: unknown; label: string }) {
  const { t } = useWords();
  if (value === "") return <span className="muted">{t.empty}</span>;
  if (typeof value === "string") return <VisibleText text={value} />;
  if (typeof value === "object" && value !== null) return <JsonBlock value={value} label={label} />;
  return <>{String(value)}</>;
}
