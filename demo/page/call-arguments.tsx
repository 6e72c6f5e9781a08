import { type CardField, textIn } from "adk-stream-protocol/protocol";
import { useState } from "react";
import { argumentOrder } from "./argument-order.ts";
import { fieldText } from "./field-text.ts";
import { JsonText, toJson } from "./json-block.tsx";
import { LongValue, Opener } from "./long-value.tsx";
import { useWords } from "./preferences.ts";
import { VisibleText } from "./visible-text.tsx";

type Fields = Readonly<Record<string, CardField>>;
const none = {};
const argumentsShown = 20;

/** Every stored argument, as text, with the labels and formats of the card where it has some. Long ones open on request. */
export function CallArguments({ input, fields = none }: { input: unknown; fields?: Fields | undefined }) {
  const { t, language } = useWords();
  const [isOpen, setOpen] = useState(false);
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    return input === undefined ? null : <JsonValue value={input} label={t.arguments} />;
  }
  const values = input as Record<string, unknown>;
  const names = argumentOrder(Object.keys(values), fields);
  if (names.length === 0) return null;
  const shown = isOpen ? names : names.slice(0, argumentsShown);
  return (
    <dl className="fields">
      {shown.map((name) => {
        const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
        const label = field?.label === undefined ? name : textIn(field.label, language);
        return (
          <div key={name} className={field?.format === "money" ? "field field-sum" : "field"} data-argument={name}>
            <dt>
              <LongValue text={label} label={t.arguments}>
                {(text) => <VisibleText text={text} />}
              </LongValue>
            </dt>
            <dd>
              <Value value={values[name]} field={field} label={label} />
            </dd>
          </div>
        );
      })}
      {shown.length < names.length && (
        <div>
          <dt className="visually-hidden">{t.arguments}</dt>
          <dd>
            <Opener label={t.card.showAllArguments(names.length)} onOpen={() => setOpen(true)} />
          </dd>
        </div>
      )}
    </dl>
  );
}

function Value({ value, field = none, label }: { value: unknown; field?: CardField | undefined; label: string }) {
  const { t, language } = useWords();
  const formatted = fieldText(value, field, language);
  if (formatted)
    return (
      <LongValue text={formatted.text} label={label}>
        {(text) => (
          <>
            {text}
            {formatted.exact !== undefined && <span className="muted small"> {formatted.exact}</span>}
          </>
        )}
      </LongValue>
    );
  if (typeof value === "object" && value !== null) return <JsonValue value={value} label={label} />;
  const isAnswer = field.format === "boolean" && typeof value === "boolean";
  return (
    <LongValue text={isAnswer ? (value ? t.yes : t.no) : String(value)} label={label}>
      {(text) => {
        if (text === "") return <span className="muted">{t.empty}</span>;
        if (typeof value === "string" && field.format === "code")
          return (
            <code>
              <VisibleText text={text} />
            </code>
          );
        return <VisibleText text={text} isMultiline={field.format === "multiline"} />;
      }}
    </LongValue>
  );
}

function JsonValue({ value, label }: { value: unknown; label: string }) {
  return (
    <LongValue text={toJson(value)} label={label}>
      {(text) => <JsonText text={text} label={label} />}
    </LongValue>
  );
}
