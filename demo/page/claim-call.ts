/** A claim is kept when its tab reloads. After this time another tab may take it, because the first one may be closed. */
const lapsesAfterMs = 30_000;

/**
 * Claims a browser call for this tab, because two tabs of the same chat both see an approved call. Returns false if
 * another tab has claimed it. If the browser has locks, one makes the check and the claim a single step.
 */
export async function claimCall(toolCallId: string, now = Date.now()): Promise<boolean> {
  const claim = () => {
    const key = `call:${toolCallId}`;
    const [owner, at] = (localStorage.getItem(key) ?? "").split(" ");
    if (owner && owner !== tabId() && now - Number(at) < lapsesAfterMs) return false;
    localStorage.setItem(key, `${tabId()} ${now}`);
    return true;
  };
  if (!navigator.locks) return claim();
  return navigator.locks.request("claim-call", claim);
}

function tabId(): string {
  const known = sessionStorage.getItem("tab");
  if (known) return known;
  const made = crypto.getRandomValues(new Uint32Array(2)).join("-");
  sessionStorage.setItem("tab", made);
  return made;
}

/** Remembers that this tab answered a question with yes, also after a reload. */
export function rememberYes(approvalId: string): void {
  sessionStorage.setItem(`yes:${approvalId}`, "1");
}

export function saidYesHere(approvalId: string): boolean {
  return sessionStorage.getItem(`yes:${approvalId}`) !== null;
}
