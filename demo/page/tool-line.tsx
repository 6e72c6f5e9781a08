import { JsonBlock, VisibleText } from "adk-stream-protocol/react";
import { getToolName, type DynamicToolUIPart, type ToolUIPart } from "ai";
import { callSummary } from "./format.ts";
import { useWords } from "./preferences.ts";
import { outputSummary } from "./output-summary.ts";
import { OutputView } from "./output-view.tsx";

/** A call that needed no approval: one line that opens to show the details. */
export function ToolLine({ part }: { part: ToolUIPart | DynamicToolUIPart }) {
  const { t } = useWords();
  const name = getToolName(part);
  const summary = callSummary(part.input);
  const output: unknown = part.output;
  const outcome =
    part.state === "output-available"
      ? outputSummary(output)
      : part.state === "output-error"
        ? t.toolFailed
        : t.toolRunning;
  return (
    <details className={part.state === "output-error" ? "tool-line tool-line-failed" : "tool-line"}>
      <summary aria-label={t.toolDetails(name)}>
        <code>{name}</code>
        {summary && (
          <span>
            {" · "}
            <VisibleText text={summary} />
          </span>
        )}
        <span>
          {" → "}
          <VisibleText text={outcome} />
        </span>
      </summary>
      <JsonBlock value={part.input} label={t.arguments} />
      {part.state === "output-available" && <OutputView output={output} label={t.result} />}
      {part.state === "output-error" && <JsonBlock value={part.errorText} label={t.error} />}
    </details>
  );
}
