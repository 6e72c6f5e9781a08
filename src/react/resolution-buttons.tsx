import { type FormEvent, type KeyboardEvent, useId, useRef, useState } from "react";
import type { ApprovalResolution } from "../client/chat-approvals.ts";
import { useWords } from "./approval-language.tsx";
import { useParts } from "./card-parts.tsx";
import { useMeantClicks } from "./use-meant-clicks.ts";
import { VisibleText } from "./visible-text.tsx";

type Choice = "happened" | "not";
const choices: readonly Choice[] = ["happened", "not"];

/** A call may have had an effect, and it is not known. A person who has checked says whether it happened. */
export function ResolutionButtons({ onResolve }: { onResolve: (resolution: ApprovalResolution) => Promise<void> }) {
  const { labels } = useWords();
  const part = useParts();
  const box = useRef<HTMLDivElement>(null);
  const [choice, setChoice] = useState<Choice>();
  const [isSending, setSending] = useState(false);
  const [problem, setProblem] = useState<string>();
  const { isTooSoon, ifMeant } = useMeantClicks(box);
  const buttons = useRef<Partial<Record<Choice, HTMLButtonElement | null>>>({});
  const questionId = useId();

  const close = () => {
    const opener = choice;
    setChoice(undefined);
    // When the form is gone, move the focus back to the button that opened it.
    if (opener) requestAnimationFrame(() => buttons.current[opener]?.focus());
  };
  const send = async (text: string) => {
    if (isSending) return;
    setSending(true);
    setProblem(undefined);
    try {
      await onResolve(toResolution(choice === "happened", text));
    } catch (error) {
      setProblem(error instanceof Error ? error.message : "");
    }
    setSending(false);
  };
  return (
    <div role="group" aria-labelledby={questionId} {...part("resolution")} ref={box}>
      <p {...part("question")} id={questionId}>
        {labels.resolution.question}
      </p>
      {choice ? (
        <ResolutionForm
          key={choice}
          choice={choice}
          isSending={isSending}
          onSend={(text) => void send(text)}
          onBack={close}
        />
      ) : (
        <div {...part("actions")}>
          {choices.map((each) => (
            <button
              key={each}
              type="button"
              {...part("resolve")}
              ref={(button) => void (buttons.current[each] = button)}
              aria-disabled={isTooSoon}
              onClick={ifMeant(() => setChoice(each))}
            >
              {`${labels.resolution[each]}…`}
            </button>
          ))}
        </div>
      )}
      {problem !== undefined && (
        <p {...part("problem")} role="alert">
          {labels.resolution.failed} <VisibleText text={problem} />
        </p>
      )}
    </div>
  );
}

interface ResolutionFormProps {
  choice: Choice;
  isSending: boolean;
  onSend: (text: string) => void;
  onBack: () => void;
}

/** What the person knows about the call. Enter sends it, Escape goes back. */
function ResolutionForm({ choice, isSending, onSend, onBack }: ResolutionFormProps) {
  const { labels } = useWords();
  const part = useParts();
  const id = useId();
  const [text, setText] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSend(text.trim());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // Enter that ends a Japanese conversion does not submit the form, nor does the Enter that opened it and is still held.
    const isOther = event.nativeEvent.isComposing || event.keyCode === 229 || event.repeat;
    if (event.key === "Enter" && isOther) event.preventDefault();
    if (event.key !== "Escape" || isOther) return;
    event.preventDefault();
    onBack();
  };
  return (
    <form {...part("form")} onSubmit={submit}>
      <label {...part("label")} htmlFor={id}>
        {choice === "happened" ? labels.resolution.outcome : labels.resolution.evidence}
      </label>
      <input
        {...part("reason")}
        id={id}
        value={text}
        maxLength={2000}
        autoComplete="off"
        ref={focusOnce}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <div {...part("actions")}>
        <button type="submit" {...part("resolve")} data-sent={isSending || undefined} aria-disabled={isSending}>
          {labels.resolution[choice]}
        </button>
        <button type="button" {...part("back")} onClick={onBack}>
          {labels.back}
        </button>
      </div>
    </form>
  );
}

const focusOnce = (input: HTMLInputElement | null) => input?.focus();

/** A choice and the text that was typed with it. An object or a list as JSON is the outcome itself; anything else is text. */
function toResolution(happened: boolean, text: string): ApprovalResolution {
  if (!happened) return text === "" ? { happened } : { happened, reason: text };
  if (text === "") return { happened };
  try {
    const value: unknown = JSON.parse(text);
    return { happened, outcome: typeof value === "object" && value !== null ? value : text };
  } catch {
    return { happened, outcome: text };
  }
}
