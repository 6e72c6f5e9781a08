import { memo, useState } from "react";
import { type CardField, textIn } from "../protocol/card.ts";
import { argumentsOf, type Fields, isRecord } from "./arguments-of.ts";
import { useCard } from "./card-parts.tsx";
import { fieldText, localeOf } from "./field-text.ts";
import { isDeep, JsonText, toJson } from "./json-text.tsx";
import { LongValue, Opener } from "./long-value.tsx";
import { VisibleText } from "./visible-text.tsx";

const none: Fields = {};
/** More arguments, or items of a list, are shown after a click. */
const entriesShown = 20;
/** A value with more levels is shown as JSON. */
const levelsShown = 4;

/**
 * Every stored argument, as text, with the labels and formats of the card where it has some. Objects and lists are drawn as
 * such. Long values, and those after the first ones, open on request.
 */
export const CallArguments = memo(function CallArguments({
  input,
  fields,
}: {
  input: unknown;
  fields?: Fields | undefined;
}) {
  const { labels } = useCard();
  if (input === undefined) return null;
  return isRecord(input) ? (
    <Entries values={input} fields={fields ?? none} />
  ) : (
    <Value value={input} field={none} label={labels.arguments} />
  );
});

/** The entries of an object, each with its name. */
function Entries({ values, fields }: { values: Record<string, unknown>; fields: Fields }) {
  const { labels, language, part } = useCard();
  const { shown, opener } = useFirst(argumentsOf(values, fields));
  if (shown.length === 0) return null;
  return (
    <dl {...part("fields")}>
      {shown.map(({ name, value, field }) => {
        const label = textIn(field.label ?? name, language);
        return (
          <div key={name} {...part("field")} data-argument={name} data-format={field.format}>
            <dt {...part("name")}>
              <LongValue text={label} label={labels.arguments}>
                {(text) => (text === "" ? <Empty /> : <VisibleText text={text} />)}
              </LongValue>
            </dt>
            <dd {...part("value")}>
              <Value value={value} field={field} label={label} />
            </dd>
          </div>
        );
      })}
      {opener && (
        <div {...part("field")}>
          <dt {...part("name")}>…</dt>
          <dd {...part("value")}>{opener}</dd>
        </div>
      )}
    </dl>
  );
}

/** The items of a list. */
function Items({ items, label }: { items: readonly unknown[]; label: string }) {
  const { part } = useCard();
  const { shown, opener } = useFirst(items);
  return (
    <ol {...part("list")}>
      {shown.map((item, index) => (
        <li key={index}>
          <Value value={item} field={none} label={label} />
        </li>
      ))}
      {opener && <li>{opener}</li>}
    </ol>
  );
}

/** The first entries, and a button for the others. */
function useFirst<T>(all: readonly T[]) {
  const { labels, language } = useCard();
  const [isOpen, setOpen] = useState(false);
  if (isOpen || all.length <= entriesShown) return { shown: all };
  const label = labels.showArguments(all.length.toLocaleString(localeOf(language)));
  return { shown: all.slice(0, entriesShown), opener: <Opener label={label} onOpen={() => setOpen(true)} /> };
}

function Value({ value, field, label }: { value: unknown; field: CardField; label: string }) {
  const { labels, language, part } = useCard();
  const formatted = fieldText(value, field, language);
  if (formatted)
    return (
      <LongValue text={formatted.text} label={label}>
        {(text) => (
          <>
            <span {...part(field.format === "money" ? "sum" : "text")}>{text}</span>
            {formatted.exact !== undefined && <span {...part("exact")}> {formatted.exact}</span>}
          </>
        )}
      </LongValue>
    );
  if (typeof value === "object" && value !== null) return <Structure value={value} label={label} />;
  const isAnswer = field.format === "boolean" && typeof value === "boolean";
  return (
    <LongValue text={isAnswer ? (value ? labels.yes : labels.no) : String(value)} label={label}>
      {(text) => {
        if (text === "") return <Empty />;
        if (typeof value === "string" && field.format === "code")
          return (
            <code {...part("code")}>
              <VisibleText text={text} />
            </code>
          );
        return <VisibleText text={text} isMultiline={field.format === "multiline"} />;
      }}
    </LongValue>
  );
}

/** An object or a list: drawn, or as JSON if it is nested deeply. */
function Structure({ value, label }: { value: object; label: string }) {
  const { labels } = useCard();
  const isEmpty = Object.keys(value).length === 0;
  if (!isEmpty && !isDeep(value, levelsShown))
    return Array.isArray(value) ? (
      <Items items={value} label={label} />
    ) : (
      <Entries values={value as Record<string, unknown>} fields={none} />
    );
  const json = toJson(value);
  // Its end cannot be seen, so the call stays closed.
  if (json === undefined) return <Opener label={labels.unseen} onOpen={() => undefined} />;
  return (
    <LongValue text={json} label={label}>
      {(text) => <JsonText text={text} label={label} />}
    </LongValue>
  );
}

function Empty() {
  const { labels, part } = useCard();
  return <span {...part("empty")}>{labels.empty}</span>;
}
