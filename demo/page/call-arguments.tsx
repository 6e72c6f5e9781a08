import { type CardField, textIn } from "adk-stream-protocol/protocol";
import { fieldText } from "./field-text.ts";
import { JsonBlock } from "./json-block.tsx";
import { useWords } from "./preferences.ts";
import { VisibleText } from "./visible-text.tsx";

type Fields = Readonly<Record<string, CardField>>;
const none = {};

/** Every stored argument in full, as text, with the labels and formats of the card where it has some. */
export function CallArguments({ input, fields = none }: { input: unknown; fields?: Fields | undefined }) {
  const { t, language } = useWords();
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    return input === undefined ? null : <JsonBlock value={input} label={t.arguments} />;
  }
  const values = input as Record<string, unknown>;
  const names = inOrder(Object.keys(values), fields);
  if (names.length === 0) return null;
  return (
    <dl className="fields">
      {names.map((name) => {
        const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
        const label = field?.label === undefined ? name : textIn(field.label, language);
        return (
          <div key={name} className={field?.format === "money" ? "field field-sum" : "field"} data-argument={name}>
            <dt>
              <VisibleText text={label} />
            </dt>
            <dd>
              <Value value={values[name]} field={field} label={label} />
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

/** The arguments of the card in its order, then the others in theirs. */
function inOrder(names: readonly string[], fields: Fields): string[] {
  const described = Object.keys(fields).filter((name) => names.includes(name));
  return [...described, ...names.filter((name) => !described.includes(name))];
}

function Value({ value, field = none, label }: { value: unknown; field?: CardField | undefined; label: string }) {
  const { t, language } = useWords();
  if (value === "") return <span className="muted">{t.empty}</span>;
  const formatted = fieldText(value, field, language);
  if (formatted)
    return (
      <>
        {formatted.text}
        {formatted.exact !== undefined && <span className="muted small"> {formatted.exact}</span>}
      </>
    );
  if (field.format === "boolean" && typeof value === "boolean") return <>{value ? t.yes : t.no}</>;
  if (typeof value === "string") {
    if (field.format === "multiline") return <VisibleText text={value} isMultiline />;
    if (field.format === "code")
      return (
        <code>
          <VisibleText text={value} />
        </code>
      );
    return <VisibleText text={value} />;
  }
  if (typeof value === "object" && value !== null) return <JsonBlock value={value} label={label} />;
  return <>{String(value)}</>;
}
