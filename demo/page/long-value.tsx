import { type ReactNode, useContext, useEffect, useRef, useState } from "react";
import { clampText } from "./clamp-text.ts";
import { useWords } from "./preferences.ts";
import { LooksContext, useMark } from "./use-looks.ts";

export interface LongValueProps {
  text: string;
  /** The name of the box in which the whole text scrolls. */
  label: string;
  /** Draws the text, or its beginning. */
  children: (shown: string) => ReactNode;
}

/** A value that a person has to see before approving. A long one is cut until the person opens it. */
export function LongValue({ text, label, children }: LongValueProps) {
  const { t } = useWords();
  const beginning = clampText(text);
  const [opened, setOpened] = useState<string>();
  const isOpen = opened === text;
  return (
    <>
      {beginning === undefined || isOpen ? (
        <Whole isLong={beginning !== undefined} label={label}>
          <Mark value={text} />
          {children(text)}
          <Mark value={text} />
        </Whole>
      ) : (
        <>
          <Mark value={text} />
          {children(beginning)}
          {"… "}
          <Opener label={t.card.showAllCharacters(text.length)} onOpen={() => setOpened(text)} />
        </>
      )}
    </>
  );
}

/** The whole of a long value scrolls in a box of its own, so that the buttons of the card stay near. */
function Whole({ isLong, label, children }: { isLong: boolean; label: string; children: ReactNode }) {
  if (!isLong) return children;
  return (
    // The button that had the focus is gone.
    <div className="long-value" role="group" aria-label={label} tabIndex={0} ref={focusOnce}>
      {children}
    </div>
  );
}

/** A button that shows what was left out. The call cannot be approved before it is pressed. */
export function Opener({ label, onOpen }: { label: string; onOpen: () => void }) {
  const looks = useContext(LooksContext);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => (button.current ? looks?.addClosed(button.current) : undefined), [looks]);
  return (
    <button type="button" className="show-all" ref={button} onClick={onOpen}>
      {label}
    </button>
  );
}

/** An invisible point of the page that notices when it is on the screen. */
function Mark({ value }: { value: string }) {
  const mark = useMark<HTMLSpanElement>(value);
  return <span className="look-mark" ref={mark} aria-hidden="true" />;
}

const focusOnce = (element: HTMLElement | null) => element?.focus();
