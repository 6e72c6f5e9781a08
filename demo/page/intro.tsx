import { useRef } from "react";
import type { Mode } from "./mode.ts";
import { useWords } from "./preferences.ts";

/** One line that says what this page is and what the mode means, and a sheet that says how it works. */
export function Intro({ mode }: { mode: Mode }) {
  const { t } = useWords();
  const { intro } = t.panel;
  const sheet = useRef<HTMLDialogElement>(null);
  return (
    <section className="intro" aria-label={intro.title}>
      <p>
        <strong>{intro.what}</strong> <span className="intro-mode">{intro.modes[mode]}</span>
      </p>
      <button type="button" className="link-button" onClick={() => sheet.current?.showModal()}>
        {intro.how}
      </button>
      <dialog ref={sheet} className="sheet" aria-label={intro.title}>
        <h2>{intro.title}</h2>
        <ol>
          {intro.steps.map((step) => (
            <li key={step}>{step}</li>
          ))}
        </ol>
        <p className="muted small">{intro.read}</p>
        <form method="dialog">
          <button className="button">{intro.close}</button>
        </form>
      </dialog>
    </section>
  );
}
