/**
 * One browser call, one tab: two tabs of the same chat both see an approved call. The lock makes look-and-mark one step
 * where the browser has locks; the mark outlives a reload of the same tab, and lapses when its tab has gone.
 */
const lapsesAfterMs = 30_000;

export async function claimCall(toolCallId: string, now = Date.now()): Promise<boolean> {
  const look = () => {
    const key = `call:${toolCallId}`;
    const [owner, at] = (localStorage.getItem(key) ?? "").split(" ");
    if (owner && owner !== tabId() && now - Number(at) < lapsesAfterMs) return false;
    localStorage.setItem(key, `${tabId()} ${now}`);
    return true;
  };
  if (!navigator.locks) return look();
  return navigator.locks.request("claim-call", look);
}

function tabId(): string {
  const known = sessionStorage.getItem("tab");
  if (known) return known;
  const made = crypto.getRandomValues(new Uint32Array(2)).join("-");
  sessionStorage.setItem("tab", made);
  return made;
}

/** Remembers that a question was answered with yes in this tab, also across a reload. */
export function rememberYes(approvalId: string): void {
  sessionStorage.setItem(`yes:${approvalId}`, "1");
}

export function saidYesHere(approvalId: string): boolean {
  return sessionStorage.getItem(`yes:${approvalId}`) !== null;
}
