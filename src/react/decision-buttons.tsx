import { type ReactNode, useRef, useSyncExternalStore } from "react";
import { useCard } from "./card-parts.tsx";
import type { Looks } from "./looks.ts";
import { useMeantClicks } from "./use-meant-clicks.ts";

export interface DecisionButtonsProps {
  /** The words that name the call on its button. */
  words: string;
  /** What names the call for assistive technology. */
  name: string;
  looks: Looks;
  onAnswer: (approved: boolean) => void;
  countdown: ReactNode;
  /** The text box above the buttons. */
  children: ReactNode;
}

/** Deny and Approve, and the time left. Approve waits until the whole call was on the screen. */
export function DecisionButtons({ words, name, looks, onAnswer, countdown, children }: DecisionButtonsProps) {
  const { labels, part } = useCard();
  const isCut = useSyncExternalStore(looks.subscribe, looks.isCut, looks.isCut);
  const box = useRef<HTMLDivElement>(null);
  const { isTooSoon, ifMeant } = useMeantClicks(box);
  const approve = () => {
    if (looks.isAllSeen()) onAnswer(true);
    else looks.showNext();
  };
  return (
    <>
      {isCut && (
        <p {...part("unseen")}>
          {labels.unseen}{" "}
          <button type="button" {...part("show")} onClick={() => looks.showNext()}>
            {labels.showRest}
          </button>
        </p>
      )}
      {children}
      <div {...part("actions")} ref={box}>
        <button
          type="button"
          {...part("deny")}
          aria-label={`${labels.deny} ${name}`}
          aria-disabled={isTooSoon}
          onClick={ifMeant(() => onAnswer(false))}
        >
          {labels.deny}
        </button>
        <button
          type="button"
          {...part("approve")}
          aria-label={words === "" ? `${labels.approve} ${name}` : undefined}
          aria-disabled={isTooSoon || isCut}
          data-cut={isCut || undefined}
          onClick={ifMeant(approve)}
        >
          {labels.approve}
          {words !== "" && (
            <>
              {" "}
              <span {...part("call")}>{words}</span>
            </>
          )}
        </button>
        {countdown}
      </div>
    </>
  );
}
