/** A claim is kept when its tab reloads. After this time another tab may take it, because the first one may be closed. */
const lapsesAfterMs = 30_000;
const prefix = "adk-stream-protocol:";

/**
 * Claims a browser call for this tab, because two tabs of the same chat both see it. Returns false if another tab has
 * claimed it. If the browser has locks, one makes the check and the claim a single step.
 */
export async function claimCall(toolCallId: string, now = Date.now()): Promise<boolean> {
  const claim = () => {
    const key = `${prefix}call:${toolCallId}`;
    const [owner, at] = (read(localStorage, key) ?? "").split(" ");
    if (owner && owner !== tabId() && now - Number(at) < lapsesAfterMs) return false;
    write(localStorage, key, `${tabId()} ${now}`);
    return true;
  };
  if (!navigator.locks) return claim();
  return navigator.locks.request(`${prefix}claim-call`, claim);
}

/** Remembers that this tab answered a question with yes, also after a reload. */
export function rememberYes(approvalId: string): void {
  write(sessionStorage, `${prefix}yes:${approvalId}`, "1");
}

export function saidYesHere(approvalId: string): boolean {
  return read(sessionStorage, `${prefix}yes:${approvalId}`) !== null;
}

let tab: string | undefined;
function tabId(): string {
  tab ??= read(sessionStorage, `${prefix}tab`) ?? crypto.getRandomValues(new Uint32Array(2)).join("-");
  write(sessionStorage, `${prefix}tab`, tab);
  return tab;
}

function read(storage: Storage, key: string): string | null {
  try {
    return storage.getItem(key);
  } catch {
    return null;
  }
}

function write(storage: Storage, key: string, value: string): void {
  try {
    storage.setItem(key, value);
  } catch {
    // The browser forbids storage or has no room. Then every tab runs the call, and the server takes one result.
  }
}
