import { useEffect, useMemo, useSyncExternalStore } from "react";
import { AllApprovals, type AllApprovalsOptions, type ChatApprovals } from "../client/index.ts";

export type { AllApprovalsOptions } from "../client/index.ts";

/** Approvals, and the way to answer them. */
export interface UsedApprovals extends ChatApprovals {
  /** The approvals now. */
  approvals: ReturnType<ChatApprovals["list"]>;
  /** Asks the server now. */
  refresh(): Promise<void>;
}

interface Source extends ChatApprovals {
  subscribe(listener: () => void): () => void;
  readonly version: number;
  refresh(): Promise<void>;
}

/**
 * The approvals of one chat, or with `all` every question of the person, in all chats. The component is drawn again when
 * one of them changes. `{ all: true }` takes the options of the server; they are read once.
 */
export function useApprovals(
  options: { chat: { approvals: Source } } | ({ all: true } & AllApprovalsOptions),
): UsedApprovals {
  const given = "chat" in options ? options.chat.approvals : undefined;
  const server = "chat" in options ? undefined : options;
  // oxlint-disable-next-line react/exhaustive-deps -- headers and functions are often new at each render
  const all = useMemo(() => server && new AllApprovals(server), [!server, server?.api, server?.actor]);
  useEffect(() => {
    all?.open();
    return () => all?.close();
  }, [all]);
  const source: Source | undefined = given ?? all;
  if (!source) throw new Error("useApprovals needs a chat, or all: true.");
  const version = useSyncExternalStore(
    source.subscribe,
    () => source.version,
    () => 0,
  );
  return useMemo(() => {
    void version;
    const { get, list, answer, resolve, retry, refresh } = source;
    return { get, list, answer, resolve, retry, refresh, approvals: list() };
  }, [source, version]);
}
