import { useId, useRef, useState } from "react";
import type { ApprovalResolution } from "../client/chat-approvals.ts";
import { ifPossible } from "../client/if-possible.ts";
import { useCard } from "./card-parts.tsx";
import { ReasonBox } from "./reason-box.tsx";
import { useMeantClicks } from "./use-meant-clicks.ts";
import { VisibleText } from "./visible-text.tsx";

/** A call may have had an effect, and it is not known. A person who has checked says whether it happened. */
export function ResolutionButtons({ onResolve }: { onResolve: (resolution: ApprovalResolution) => Promise<void> }) {
  const { labels, part } = useCard();
  const words = labels.resolution;
  const box = useRef<HTMLDivElement>(null);
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<string>();
  const [isSending, setSending] = useState(false);
  const { isTooSoon, ifMeant } = useMeantClicks(box);
  const questionId = useId();

  const send = async (happened: boolean) => {
    if (isSending) return;
    setSending(true);
    setProblem(undefined);
    try {
      await onResolve(toResolution(happened, text.trim()));
    } catch (error) {
      setProblem(error instanceof Error ? error.message : "");
    }
    setSending(false);
  };
  return (
    <div role="group" aria-labelledby={questionId} {...part("resolution")}>
      <p {...part("question")} id={questionId}>
        {words.question}
      </p>
      <ReasonBox label={words.text} hint={words.textHint} text={text} onText={setText} />
      <div {...part("actions")} ref={box}>
        {[true, false].map((happened) => (
          <button
            key={String(happened)}
            type="button"
            {...part("resolve")}
            aria-disabled={isTooSoon || isSending}
            onClick={ifMeant(() => void send(happened))}
          >
            {happened ? words.happened : words.not}
          </button>
        ))}
      </div>
      {problem !== undefined && (
        <p {...part("problem")} role="alert">
          {words.failed} <VisibleText text={problem} />
        </p>
      )}
    </div>
  );
}

/** What a person says and the text that was typed. An object or a list as JSON is the outcome itself; anything else is text. */
function toResolution(happened: boolean, text: string): ApprovalResolution {
  if (!happened) return text === "" ? { happened } : { happened, reason: text };
  if (text === "") return { happened };
  const value = ifPossible<unknown>(() => JSON.parse(text));
  return { happened, outcome: typeof value === "object" && value !== null ? value : text };
}
