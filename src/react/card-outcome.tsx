import type { ApprovalInfo } from "../client/chat-approvals.ts";
import { useCard } from "./card-parts.tsx";
import type { ApprovalLabels } from "./labels.ts";
import { LongValue } from "./long-value.tsx";
import { interimText, outputSummary } from "./output-summary.ts";

/** What a call that has begun says, its result in a few words, the error, or the reason for a denial. */
export function CardOutcome({ info }: { info: ApprovalInfo }) {
  const { labels, part } = useCard();
  const { label, text } = outcomeOf(info, labels);
  if (text === undefined || text === "") return null;
  return (
    <dl {...part("fields")}>
      <div {...part("outcome")}>
        <dt {...part("name")}>{label}</dt>
        <dd {...part("value")}>
          <LongValue text={text} label={label} />
        </dd>
      </div>
    </dl>
  );
}

function outcomeOf(info: ApprovalInfo, labels: ApprovalLabels): { label: string; text?: string | undefined } {
  const ofPerson = { label: labels.reason, text: info.reason ?? info.answer?.reason };
  switch (info.state) {
    case "waiting":
      return { label: labels.status, text: interimText(info.interim) };
    case "done":
      return { label: labels.outcome, text: info.output === undefined ? undefined : resultText(info.output) };
    case "failed":
      return info.resolvedBy === undefined ? { label: labels.error, text: info.errorText } : ofPerson;
    case "sending":
    case "unsent":
    case "denied":
    case "cancelled":
      return ofPerson;
    default:
      return { label: "" };
  }
}

/** What a person wrote about a call that happened, or a summary. */
function resultText(output: unknown): string {
  const { result } = Object(output) as { result?: unknown };
  return typeof result === "string" ? result : outputSummary(output);
}
