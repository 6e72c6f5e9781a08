import { useId, useRef, useState } from "react";
import { type Resolution, type Resolved, toResolution } from "./resolution.ts";
import { useWords } from "./preferences.ts";
import { ReasonForm } from "./reason-form.tsx";
import { useMeantClicks } from "./use-meant-clicks.ts";

type Choice = "happened" | "not";

/** A call may have had an effect and no one knows. A person who has checked says whether it happened. */
export function ResolutionButtons({ onResolve }: { onResolve: (resolution: Resolution) => Promise<Resolved> }) {
  const { t } = useWords();
  const [choice, setChoice] = useState<Choice>();
  const [text, setText] = useState("");
  const [isSending, setSending] = useState(false);
  const [refusal, setRefusal] = useState<Exclude<Resolved, "resolved">>();
  const { isTooSoon, ifMeant } = useMeantClicks();
  const buttons = { happened: useRef<HTMLButtonElement>(null), not: useRef<HTMLButtonElement>(null) };
  const questionId = useId();

  const open = (next: Choice) => {
    setText("");
    setChoice(next);
  };
  const close = () => {
    const opener = choice;
    setChoice(undefined);
    // When the form is gone, move the focus back to the button that opened it.
    if (opener) requestAnimationFrame(() => buttons[opener].current?.focus());
  };
  const send = async (typed: string) => {
    setSending(true);
    setRefusal(undefined);
    const resolved = await onResolve(toResolution(choice === "happened", typed));
    setSending(false);
    // After a success the ledger moves the card to its new state.
    if (resolved !== "resolved") setRefusal(resolved);
  };
  const words = choice === "happened" ? t.resolution.happenedForm : t.resolution.notForm;

  return (
    <div role="group" aria-labelledby={questionId} className="resolution">
      <p id={questionId} className="resolution-question">
        {t.resolution.question}
      </p>
      {choice ? (
        <ReasonForm
          key={choice}
          label={words.label}
          placeholder={words.placeholder}
          submitLabel={isSending ? t.resolution.sending : words.submit}
          submitClass="button-primary"
          isSending={isSending}
          text={text}
          onText={setText}
          ifMeant={ifMeant}
          onSubmit={(typed) => void send(typed)}
          onBack={close}
        />
      ) : (
        <div className="card-actions">
          {(["happened", "not"] as const).map((each) => (
            <button
              key={each}
              type="button"
              className="button"
              ref={buttons[each]}
              aria-disabled={isTooSoon}
              onClick={ifMeant(() => open(each))}
            >
              {t.resolution[each]}
            </button>
          ))}
        </div>
      )}
      {refusal && (
        <p className="resolution-refusal" role="alert">
          {refusal === "missing"
            ? t.resolution.missing
            : refusal === "unreachable"
              ? t.resolution.unreachable
              : t.resolution.already(t.states[refusal.state])}
        </p>
      )}
    </div>
  );
}
