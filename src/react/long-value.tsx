import { type ReactNode, useState } from "react";
import { useCard } from "./card-parts.tsx";
import { clampText } from "./clamp-text.ts";
import { localeOf } from "./field-text.ts";
import { useMark } from "./use-mark.ts";
import { VisibleText } from "./visible-text.tsx";

/** A text that may be long, and how it is drawn. */
export interface LongValueProps {
  /** The whole text. */
  text: string;
  /** The name of the box in which the whole text scrolls. */
  label: string;
  /** Draws the text, or its beginning. Default: with {@link VisibleText}. */
  children?: (shown: string) => ReactNode;
}

/** A value that a person has to see before approving. A long one is cut until the person opens it. */
export function LongValue({ text, label, children = visible }: LongValueProps) {
  const { labels, language, part } = useCard();
  const beginning = clampText(text);
  const [opened, setOpened] = useState<string>();
  if (beginning === undefined || opened === text) {
    const whole = (
      <>
        <Mark value={text} />
        {children(text)}
        <Mark value={text} />
      </>
    );
    if (beginning === undefined) return whole;
    // It scrolls in a box of its own, so that the buttons of the card stay near. The button that had the focus is gone.
    return (
      <div {...part("long")} role="group" aria-label={label} tabIndex={0} ref={focusOnce}>
        {whole}
      </div>
    );
  }
  const count = text.length.toLocaleString(localeOf(language));
  return (
    <>
      <Mark value={text} />
      {children(beginning)}
      {"… "}
      <Opener label={labels.showCharacters(count)} onOpen={() => setOpened(text)} />
    </>
  );
}

const visible = (text: string): ReactNode => <VisibleText text={text} />;

/** A button that shows what was left out. The call cannot be approved before it is pressed. */
export function Opener({ label, onOpen }: { label: string; onOpen: () => void }) {
  const { part } = useCard();
  const button = useMark<HTMLButtonElement>();
  return (
    <button type="button" {...part("show")} ref={button} onClick={onOpen}>
      {label}
    </button>
  );
}

/** An invisible point of the page that notices when it is on the screen. */
function Mark({ value }: { value: string }) {
  const { part } = useCard();
  const mark = useMark<HTMLSpanElement>(value);
  return <span {...part("seen")} ref={mark} aria-hidden="true" />;
}

const focusOnce = (element: HTMLElement | null) => element?.focus();
