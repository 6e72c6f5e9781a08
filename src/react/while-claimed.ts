import { ifPossible } from "../client/if-possible.ts";
import { newKey } from "../client/new-key.ts";

/** After a call its claim stays for this long: other tabs have read the outcome by then. */
const lapsesAfterMs = 30_000;
const prefix = "adk-stream-protocol:";
const claims = `${prefix}call:`;

/**
 * Runs a browser call in this tab alone: two tabs of the same chat both see it. Does nothing if another tab has claimed
 * it. A lock of the browser keeps others out while the call runs, also a tab that was duplicated and takes itself
 * for this one. A page without locks has only the time of the claim. Without storage, too, every tab runs the call, and
 * the server takes one result.
 * The claim ends early when the signal aborts.
 */
export async function whileClaimed(toolCallId: string, run: () => Promise<void>, signal: AbortSignal): Promise<void> {
  const key = claims + toolCallId;
  const me = tabId();
  const claim = async () => {
    ifPossible(removeLapsed);
    if (ifPossible(() => localStorage.getItem(key))?.startsWith(me) === false) return;
    const note = () => ifPossible(() => localStorage.setItem(key, `${me} ${Date.now()}`));
    note();
    // A tool that does not end must not keep the claim when the page comes back to the chat.
    await Promise.race([run(), new Promise((resolve) => signal.addEventListener("abort", resolve))]);
    note();
  };
  if (!navigator.locks) return claim();
  let isAllowed = false;
  const options = { ifAvailable: true };
  await navigator.locks
    .request(key, options, (lock) => {
      isAllowed = true;
      return lock && claim();
    })
    .catch((error: unknown) => {
      if (isAllowed) throw error;
      // A frame of its own origin may not use locks.
      return claim();
    });
}

/** The questions that were answered with yes since the page was loaded. */
const answered = new Set<string>();

/** Remembers that this tab answered a question with yes, also after a reload if the browser lets the page store it. */
export function rememberYes(approvalId: string): void {
  answered.add(approvalId);
  ifPossible(() => sessionStorage.setItem(`${prefix}yes:${approvalId}`, "1"));
}

export function saidYesHere(approvalId: string): boolean {
  return answered.has(approvalId) || ifPossible(() => sessionStorage.getItem(`${prefix}yes:${approvalId}`)) === "1";
}

let tab: string | undefined;
function tabId(): string {
  const key = `${prefix}tab`;
  const id = (tab ??= ifPossible(() => sessionStorage.getItem(key)) ?? newKey());
  ifPossible(() => sessionStorage.setItem(key, id));
  return id;
}

/** A claim that has lapsed says nothing, and without this the storage of the page would fill up. */
function removeLapsed(): void {
  for (const [key, claim] of Object.entries<string>(localStorage))
    if (key.startsWith(claims) && Date.now() - Number(claim.split(" ")[1]) >= lapsesAfterMs)
      localStorage.removeItem(key);
}
