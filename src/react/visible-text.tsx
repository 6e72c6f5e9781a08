import { memo } from "react";
import { visibleText } from "../protocol/visible-text.ts";
import { useCard } from "./card-parts.tsx";
import { lookAlikes } from "./look-alikes.ts";

/** The text to show. */
export interface VisibleTextProps {
  /** Text of a model, a tool or a person. */
  text: string;
  /** The ends of lines are shown as such only, without a mark. */
  isMultiline?: boolean;
}

/**
 * Text that comes from a model, a tool or a person, as text. Each character that cannot be seen is shown by its name, and
 * letters that look like others are named after the text.
 */
export const VisibleText = memo(function VisibleText({ text, isMultiline = false }: VisibleTextProps) {
  const { labels, language, part } = useCard();
  const scripts = lookAlikes(text, language);
  const names = scripts.map((name) => labels.scripts[name] ?? name).join(" + ");
  return (
    <>
      <bdi {...part("text")}>
        {visibleText(text).map((run, index) => {
          if (run.kind === "text") return run.text;
          const isLineEnd = run.text === "\n";
          const isOrdinary = isLineEnd || run.text === "\t";
          return (
            <span key={index}>
              {!(isMultiline && isLineEnd) && (
                // The ends of lines and tabs are part of ordinary text, so they are no reason for a warning.
                <span {...part("mark")} data-kind={isOrdinary ? "ordinary" : "hidden"}>
                  {run.label}
                </span>
              )}
              {isLineEnd && <br />}
            </span>
          );
        })}
      </bdi>
      {names !== "" && (
        <span {...part("mark")} data-kind="script">
          {scripts.length > 1 ? labels.mixedScripts(names) : labels.lookAlikes(names)}
        </span>
      )}
    </>
  );
});
