import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

/** A storage of a browser. What it has are its own properties. */
class MemoryStorage {
  [key: string]: unknown;
  getItem(key: string) {
    return Object.hasOwn(this, key) ? this[key] : null;
  }
  setItem(key: string, value: string) {
    this[key] = value;
  }
  removeItem(key: string) {
    delete this[key];
  }
}

/** The locks of a browser, as far as they are used: a lock is taken, or it is not there. */
function browserLocks() {
  const held = new Set<string>();
  return {
    async request(name: string, _: { ifAvailable: true }, run: (lock: object | null) => Promise<unknown>) {
      if (held.has(name)) return run(null);
      held.add(name);
      return run({}).finally(() => held.delete(name));
    },
  };
}

let local: MemoryStorage;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
  local = new MemoryStorage();
  vi.stubGlobal("localStorage", local);
  vi.stubGlobal("navigator", { locks: browserLocks() });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** The code, as a page has it that was just loaded. */
async function load() {
  vi.resetModules();
  return import("./while-claimed.ts");
}

/** A tab, as a function that tells whether it ran the call. A tab that was duplicated has a copy of the other's storage. */
async function openTab(session = new MemoryStorage()) {
  const { whileClaimed } = await load();
  return async (now: number, work: () => Promise<void>, signal = new AbortController().signal) => {
    vi.stubGlobal("sessionStorage", session);
    let hasRun = false;
    const run = () => {
      hasRun = true;
      return work();
    };
    vi.setSystemTime(now);
    await whileClaimed("c1", run, signal);
    return hasRun;
  };
}

const quick = async () => undefined;
/** Work that ends when it is told to. */
function slow() {
  let end = () => undefined as void;
  const ended = new Promise<void>((resolve) => (end = resolve));
  return { run: () => ended, end: () => end() };
}

describe("a claim", () => {
  it("keeps other tabs out for as long as the call runs", async () => {
    const [one, other] = [await openTab(), await openTab()];
    const { run, end } = slow();
    const running = one(0, run);
    expect(await other(60_000, quick)).toBe(false);
    end();
    expect(await running).toBe(true);
  });

  it("keeps a tab out that was duplicated", async () => {
    const session = new MemoryStorage();
    const [one, copy] = [await openTab(session), await openTab(session)];
    const { run, end } = slow();
    const running = one(0, run);
    expect(await copy(1000, quick)).toBe(false);
    end();
    await running;
  });

  it("keeps other tabs out for a while after the call, until they have read its outcome", async () => {
    const [one, other] = [await openTab(), await openTab()];
    await one(0, quick);
    expect(await other(1000, quick)).toBe(false);
    expect(await other(60_000, quick)).toBe(true);
  });

  it("ends when the page leaves the chat", async () => {
    const one = await openTab();
    const leave = new AbortController();
    const running = one(0, slow().run, leave.signal);
    leave.abort();
    await running;
    expect(await one(1, quick)).toBe(true);
  });

  it("is not needed where the browser forbids locks and storage, as in a sandboxed frame", async () => {
    const forbid = () => Promise.reject(new DOMException("The request was denied.", "SecurityError"));
    vi.stubGlobal("navigator", { locks: { request: forbid } });
    vi.stubGlobal("localStorage", undefined);
    expect(await (await openTab())(0, quick)).toBe(true);
  });

  it("does not fill the storage", async () => {
    const one = await openTab();
    for (let index = 0; index < 100; index += 1) local.setItem(`adk-stream-protocol:call:old-${index}`, `tab ${index}`);
    local.setItem("of the application", "stays");
    await one(1_000_000, quick);
    expect(Object.keys(local)).toEqual(["of the application", "adk-stream-protocol:call:c1"]);
  });
});

describe("a yes", () => {
  it("is remembered after a reload", async () => {
    vi.stubGlobal("sessionStorage", new MemoryStorage());
    (await load()).rememberYes("a1");
    const { saidYesHere } = await load();
    expect([saidYesHere("a1"), saidYesHere("a2")]).toEqual([true, false]);
  });

  it("is remembered as long as the page if the browser has no room for it", async () => {
    const full = Object.assign(new MemoryStorage(), {
      setItem() {
        throw new DOMException("The quota has been exceeded.", "QuotaExceededError");
      },
    });
    vi.stubGlobal("sessionStorage", full);
    const { rememberYes, saidYesHere } = await load();
    rememberYes("a1");
    expect([saidYesHere("a1"), saidYesHere("a2")]).toEqual([true, false]);
  });
});
