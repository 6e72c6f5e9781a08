import { useId } from "react";
import { useCard } from "./card-parts.tsx";

/** The server takes 4,000 characters; an emoji of several parts counts as several of them. */
const longestReason = 2000;

interface ReasonBoxProps {
  label: string;
  hint: string;
  text: string;
  onText: (text: string) => void;
}

/** One line of optional text that goes with an answer. Enter does nothing here: it would not say which answer is meant. */
export function ReasonBox({ label, hint, text, onText }: ReasonBoxProps) {
  const { part } = useCard();
  const id = useId();
  return (
    <div {...part("form")}>
      <label {...part("label")} htmlFor={id}>
        {label}
      </label>
      <input
        {...part("reason")}
        id={id}
        value={text}
        maxLength={longestReason}
        placeholder={hint}
        autoComplete="off"
        onChange={(event) => onText(event.target.value)}
      />
    </div>
  );
}
