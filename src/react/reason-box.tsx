import { useId } from "react";
import { useWords } from "./approval-language.tsx";
import { useParts } from "./card-parts.tsx";

/** The server takes 4,000 characters; an emoji of several parts counts as several of them. */
const longestReason = 2000;

export interface ReasonBoxProps {
  text: string;
  onText: (text: string) => void;
}

/** One line of optional text that goes with an answer. Enter does nothing here: it would not say which answer is meant. */
export function ReasonBox({ text, onText }: ReasonBoxProps) {
  const { labels } = useWords();
  const part = useParts();
  const id = useId();
  return (
    <div {...part("form")}>
      <label {...part("label")} htmlFor={id}>
        {labels.reason}
      </label>
      <input
        {...part("reason")}
        id={id}
        value={text}
        maxLength={longestReason}
        placeholder={labels.reasonHint}
        autoComplete="off"
        onChange={(event) => onText(event.target.value)}
      />
    </div>
  );
}
