import { type ReactNode, useState } from "react";
import { isLargeOutput } from "../protocol/large-output.ts";
import type { ApprovalInfo } from "../client/chat-approvals.ts";
import { useCard } from "./card-parts.tsx";
import { JsonBlock, JsonText } from "./json-text.tsx";

/** The call as it is stored, what the model sent if that was something else, and the result. */
export function CardDetails({ info }: { info: ApprovalInfo }) {
  const { labels, part } = useCard();
  const { toolName, input, rawInput, digest, output } = info;
  const callWith = (given: unknown, label: string) => (
    <JsonBlock value={{ tool: toolName, arguments: given }} label={label} />
  );
  return (
    <>
      <Details title={labels.exactCall}>
        {rawInput === undefined ? (
          callWith(input, labels.exactCall)
        ) : (
          <>
            <p {...part("note")}>{labels.runs}</p>
            {callWith(input, labels.runs)}
            <p {...part("note")}>{labels.modelSent}</p>
            {callWith(rawInput, labels.modelSent)}
          </>
        )}
        {digest !== undefined && (
          <p {...part("note")}>
            <code {...part("code")}>{digest}</code>
          </p>
        )}
      </Details>
      {info.state === "done" && output !== undefined && (
        <Details title={labels.result}>
          <Output output={output} />
        </Details>
      )}
    </>
  );
}

/** What is drawn only after a person has opened it: it can be long, and a page can have many cards. */
function Details({ title, children }: { title: string; children: ReactNode }) {
  const { part } = useCard();
  const [isOpen, setOpen] = useState(false);
  return (
    <details {...part("details")} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary {...part("summary")}>{title}</summary>
      {isOpen && children}
    </details>
  );
}

/** What a tool returned. Of a large output this is the beginning, with a link to the whole. */
function Output({ output }: { output: unknown }) {
  const { labels, part } = useCard();
  if (!isLargeOutput(output)) return <JsonBlock value={output} label={labels.result} />;
  return (
    <>
      <JsonText text={`${output.preview}…`} label={labels.result} />
      <a {...part("link")} href={output.url} target="_blank" rel="noreferrer">
        {labels.wholeResult}
      </a>
    </>
  );
}
