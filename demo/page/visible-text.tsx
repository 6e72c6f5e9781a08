import { mixedScripts, visibleText } from "adk-stream-protocol/protocol";
import { useWords } from "./preferences.ts";

/** Text from the model or a person. Each invisible character is shown by its name, in a text of several lines not their ends. */
export function VisibleText({ text, isMultiline = false }: { text: string; isMultiline?: boolean }) {
  const { t } = useWords();
  const scripts = mixedScripts(text);
  return (
    <>
      <bdi className="outside">
        {visibleText(text).map((run, index) =>
          run.kind === "text" ? (
            <span key={index}>{run.text}</span>
          ) : (
            <span key={index}>
              {!(isMultiline && run.text === "\n") && (
                <span className={ordinary.has(run.text) ? "mark mark-ordinary" : "mark"}>{run.label}</span>
              )}
              {run.text === "\n" && <br />}
            </span>
          ),
        )}
      </bdi>
      {scripts.length > 0 && <span className="mark mark-warning">{warningOf(scripts, t)}</span>}
    </>
  );
}

/** The ends of lines and tabs are part of ordinary text, so they are no reason for a warning. */
const ordinary: ReadonlySet<string> = new Set(["\n", "\t"]);

function warningOf(scripts: readonly string[], t: ReturnType<typeof useWords>["t"]): string {
  const names = scripts.map((name) => t.scripts[name] ?? name).join(" + ");
  return scripts.length > 1 ? t.mixedScripts(names) : t.lookAlikes(names);
}
