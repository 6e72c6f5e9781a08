import { useEffect, useState } from "react";
import { fetchState } from "./debug-api.ts";
import { useWords } from "./preferences.ts";
import { VisibleText } from "adk-stream-protocol/react";

/** The state of the chat's session as a tree. Read again when the conversation goes on. */
export function StateView({
  chatId,
  sequence,
}: {
  chatId: string;
  /** The end of the chat's log. */ sequence: number;
}) {
  const { t } = useWords();
  const words = t.panel.state;
  const [state, setState] = useState<Record<string, unknown> | "failed">({});
  useEffect(() => {
    // The server does not know a chat before its first message.
    if (sequence === 0) return;
    let isOld = false;
    fetchState(chatId).then(
      (loaded) => !isOld && setState(loaded),
      () => !isOld && setState("failed"),
    );
    return () => {
      isOld = true;
    };
  }, [chatId, sequence]);

  return (
    <section className="state" aria-labelledby="state-title">
      <h2 id="state-title">{words.title}</h2>
      {state === "failed" ? (
        <p className="small">{words.failed}</p>
      ) : Object.keys(state).length === 0 ? (
        <p className="muted small">{words.empty}</p>
      ) : (
        <Branches value={state} depth={0} />
      )}
    </section>
  );
}

/** Deeper values are closed at first, and long lists are cut. */
const openDepth = 2;
const maxBranches = 100;

function Branches({ value, depth }: { value: object; depth: number }) {
  const entries = Object.entries(value);
  return (
    <ul className="state-tree">
      {entries.slice(0, maxBranches).map(([name, child]) => (
        <li key={name}>
          <Branch name={name} value={child as unknown} depth={depth} />
        </li>
      ))}
      {entries.length > maxBranches && <li className="muted">+ {entries.length - maxBranches}</li>}
    </ul>
  );
}

function Branch({ name, value, depth }: { name: string; value: unknown; depth: number }) {
  if (typeof value !== "object" || value === null || Object.keys(value).length === 0)
    return (
      <>
        <span className="state-name">
          <VisibleText text={name} />
        </span>{" "}
        <span className="state-value">
          <VisibleText text={JSON.stringify(value) ?? String(value)} />
        </span>
      </>
    );
  const size = Object.keys(value).length;
  return (
    <details open={depth < openDepth}>
      <summary>
        <span className="state-name">
          <VisibleText text={name} />
        </span>{" "}
        <span className="muted">{Array.isArray(value) ? `[${size}]` : `{${size}}`}</span>
      </summary>
      <Branches value={value} depth={depth + 1} />
    </details>
  );
}
