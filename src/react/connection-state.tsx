import { useEffect, useRef } from "react";
import type { ConnectionState as State } from "../client/connection-state.ts";
import { announce, prepareAnnouncements } from "./announce.ts";
import { ApprovalLanguage, type LanguageProps } from "./approval-language.tsx";
import { useCard } from "./card-parts.tsx";
import { useSecondsUntil } from "./use-seconds-until.ts";

/** The connection to show, and in which words. */
export interface ConnectionStateProps extends LanguageProps {
  /** The state of the connection, or undefined if there is none. */
  connection: State | undefined;
  /** Connects at once. Without it there is no button. */
  onRetry?: (() => void) | undefined;
  /** Also shows a connection that is open or is being opened. A connection that was not asked for yet is never shown. */
  always?: boolean | undefined;
  className?: string | undefined;
}

/** Says that the connection is lost and when it is tried again, or that the person is signed out. */
export function ConnectionState({ language, labels, ...props }: ConnectionStateProps) {
  return (
    <ApprovalLanguage language={language} labels={labels}>
      <Connection {...props} />
    </ApprovalLanguage>
  );
}

function Connection({
  connection,
  onRetry,
  always = false,
  className,
}: Omit<ConnectionStateProps, keyof LanguageProps>) {
  const { labels } = useCard();
  const seconds = useSecondsUntil(connection?.retryAt);
  const { status, latencyMs } = connection ?? {};
  const isLost = status === "reconnecting" || status === "closed";
  useAnnounced(status, isLost);
  if (!status || status === "idle" || !(always || isLost || status === "signed-out")) return null;
  const words = labels.connection;
  const isWaiting = status === "reconnecting" && seconds > 0;
  return (
    <span data-part="connection" data-connection={status} className={className}>
      <span data-part="dot" aria-hidden="true" />
      <span data-part="connection-words">{isWaiting ? words.reconnectingIn(seconds) : words[status]}</span>
      {status === "open" && latencyMs !== undefined && <span data-part="latency">{Math.round(latencyMs)} ms</span>}
      {onRetry && (isWaiting || status === "closed") && (
        <button type="button" data-part="retry" onClick={onRetry}>
          {words.retry}
        </button>
      )}
    </span>
  );
}

/** Announces that the connection is lost or found again. The seconds are not announced. */
function useAnnounced(status: State["status"] | undefined, isLost: boolean): void {
  const { labels } = useCard();
  const wasLost = useRef(false);
  useEffect(() => {
    prepareAnnouncements();
    if (isLost === wasLost.current || !(isLost || status === "open")) return;
    wasLost.current = isLost;
    announce(isLost ? labels.connection.lost : labels.connection.found);
  }, [status, isLost, labels]);
}
