import { useEffect, useState, useSyncExternalStore } from "react";
import { useWords } from "./preferences.ts";
import type { Wires } from "./wires.ts";

/** The state of the WebSocket. Shows nothing in SSE, which has none. */
export function ConnectionStatus({ wires }: { wires: Wires }) {
  const { t } = useWords();
  const state = useSyncExternalStore(wires.subscribe, wires.connection);
  const seconds = useSecondsUntil(state?.retryAt);
  if (!state) return null;
  const { status, latencyMs } = state;
  const words = {
    idle: t.connection.connecting,
    connecting: t.connection.connecting,
    open: t.connection.open,
    reconnecting: t.connection.reconnecting,
    closed: t.connection.offline,
    "signed-out": t.connection.signedOut,
  }[status];
  const measure =
    status === "open" && latencyMs !== undefined
      ? `${Math.round(latencyMs)} ms`
      : status === "reconnecting" && seconds > 1
        ? `${seconds} s`
        : undefined;
  return (
    <span
      className={`connection connection-${status}`}
      data-connection={status}
      title={`${t.connectionLabel}: ${words}`}
    >
      {status === "open" || status === "closed" || status === "signed-out" ? (
        <span className="dot" aria-hidden="true" />
      ) : (
        <span className="spinner" aria-hidden="true" />
      )}
      <span className="visually-hidden">{t.connectionLabel}: </span>
      <span>
        <span className={measure && "connection-words"}>{words}</span>
        {measure && (
          <>
            <span className="connection-words"> · </span>
            {measure}
          </>
        )}
      </span>
    </span>
  );
}

/** The whole seconds until `time`, counted down; 0 if there is no time. */
function useSecondsUntil(time: number | undefined): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (time === undefined) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [time]);
  return time === undefined ? 0 : Math.max(0, Math.ceil((time - now) / 1000));
}
