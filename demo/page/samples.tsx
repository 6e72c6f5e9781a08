import type { Mode } from "./mode.ts";
import type { Sample } from "./panel-strings.ts";
import { useWords } from "./preferences.ts";
import { isSecondClick } from "./second-click.ts";
import type { PageChat } from "./use-page-chat.ts";

const samples: readonly Sample[] = ["email", "shell", "nested", "slow", "failing", "expiring"];

/** Sentences for the sample tools. In SSE a message would withdraw a call that waits, so then none can be sent from here. */
export function Samples({ mode, chat }: { mode: Mode; chat: PageChat }) {
  const { t } = useWords();
  const isWaiting = mode === "sse" && chat.cards.some(({ state }) => state === "asked");
  const isBlocked = isWaiting || chat.isBusy;
  return (
    <details className="fold">
      <summary>
        <h2>{t.panel.samplesTitle}</h2>
      </summary>
      {isWaiting && <p className="muted small">{t.panel.samplesWait}</p>}
      <ul className="samples">
        {samples.map((sample) => {
          const { name, sentence } = t.panel.samples[sample];
          return (
            <li key={sample}>
              <button
                type="button"
                aria-disabled={isBlocked}
                onClick={(event) => !isSecondClick(event) && !isBlocked && chat.send(sentence)}
              >
                <span className="small muted">{name}</span>
                <span>{sentence}</span>
              </button>
            </li>
          );
        })}
      </ul>
    </details>
  );
}
