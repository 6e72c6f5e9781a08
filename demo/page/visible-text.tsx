import { mixedScripts, visibleText } from "adk-stream-protocol/protocol";
import { useWords } from "./preferences.ts";

/** Text from the model or a person. Each invisible character is shown by its name. */
export function VisibleText({ text }: { text: string }) {
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
              <span className="mark">{run.label}</span>
              {run.text === "\n" && <br />}
            </span>
          ),
        )}
      </bdi>
      {scripts.length > 0 && <span className="mark mark-warning">{t.mixedScripts(scripts.join(" + "))}</span>}
    </>
  );
}
