import { useWords } from "./approval-language.tsx";
import type { ApprovalInfo } from "../client/chat-approvals.ts";
import { useParts } from "./card-parts.tsx";
import { LongValue } from "./long-value.tsx";
import { interimText, outputSummary } from "./output-summary.ts";
import { VisibleText } from "./visible-text.tsx";

/** What a call that has begun says, its result in a few words, the error, or the reason for a denial. */
export function CardOutcome({ info }: { info: ApprovalInfo }) {
  const { labels } = useWords();
  const part = useParts();
  const { label, text } = outcomeOf(info, labels);
  if (text === undefined || text === "") return null;
  return (
    <dl {...part("fields")}>
      <div {...part("outcome")}>
        <dt {...part("name")}>{label}</dt>
        <dd {...part("value")}>
          <LongValue text={text} label={label}>
            {(shown) => <VisibleText text={shown} />}
          </LongValue>
        </dd>
      </div>
    </dl>
  );
}

function outcomeOf(
  info: ApprovalInfo,
  labels: ReturnType<typeof useWords>["labels"],
): { label: string; text?: string } {
  const { reason = info.answer?.reason } = info;
  switch (info.state) {
    case "waiting":
      return { label: labels.status, text: interimText(info.interim) };
    case "done":
      return { label: labels.outcome, ...(info.output !== undefined && { text: resultText(info.output) }) };
    case "failed":
      if (info.resolvedBy === undefined)
        return { label: labels.error, ...(info.errorText && { text: info.errorText }) };
      return { label: labels.reason, ...(reason !== undefined && { text: reason }) };
    case "sending":
    case "unsent":
    case "denied":
    case "cancelled":
      return { label: labels.reason, ...(reason !== undefined && { text: reason }) };
    default:
      return { label: "" };
  }
}

/** What a person wrote about a call that happened, or a summary. */
function resultText(output: unknown): string {
  const { result } = Object(output ?? {}) as { result?: unknown };
  return typeof result === "string" ? result : outputSummary(output);
}
