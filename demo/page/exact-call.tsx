import type { ApprovalView } from "adk-stream-protocol/protocol";
import { JsonBlock } from "./json-block.tsx";
import { useWords } from "./preferences.ts";

/** The call as it is stored: what runs, what the model sent if that was something else, and the digest of the action. */
export function ExactCall({
  toolName,
  input,
  row,
}: {
  toolName: string;
  input: unknown;
  row: ApprovalView | undefined;
}) {
  const { t } = useWords();
  const isChanged = row?.rawInput !== undefined;
  return (
    <details className="more" data-testid="exact-call">
      <summary>{t.exactCall}</summary>
      {isChanged && <p className="exact-title">{t.runsAs}</p>}
      <JsonBlock value={{ tool: toolName, arguments: input }} label={isChanged ? t.runsAs : t.exactCall} />
      {isChanged && (
        <>
          <p className="exact-title">{t.modelSent}</p>
          <JsonBlock value={{ tool: toolName, arguments: row.rawInput }} label={t.modelSent} />
        </>
      )}
      {row && (
        <p className="digest">
          {t.digest} <code>{row.digest}</code>
        </p>
      )}
    </details>
  );
}
