import { overrideStore } from "./override-store.ts";
import type { Approval, ListedChat, Session, Store, StoredFile } from "./store.ts";

/** A store as one app sees it: the names of chats and files are its own, so that callers need not name the app. */
export interface AppStore extends Store {
  findChat(owner: string, name: string): Promise<Session | undefined>;
  findFile(owner: string, id: string): Promise<StoredFile | undefined>;
  listChats(of: { owner: string }, page?: Parameters<Store["listChats"]>[1]): Promise<ListedChat[]>;
}

/** How many ids of the app's rows are remembered, so that most changes need no extra read. */
const maxKnown = 10_000;

/**
 * The rows of one app in a store that several apps share. A row of another app is indistinguishable from a missing one.
 * Everything that looks through more than one chat gets the app's name here, and only here.
 *
 * Methods that take the id of a chat or session are left alone, except those that look one up: such an id is known only
 * from a chat, a session or a row that was found here.
 */
export function appStore(store: Store, appName: string): AppStore {
  const known = new Set<string>();
  const remember = (row: Approval): Approval => {
    known.delete(row.id);
    known.add(row.id);
    const [oldest] = known;
    if (known.size > maxKnown && oldest !== undefined) known.delete(oldest);
    return row;
  };
  const getApproval = async (id: string) => {
    const row = await store.getApproval(id);
    return row?.appName === appName ? remember(row) : undefined;
  };
  // The app of a row never changes, and an id is never used again.
  const isOwn = async (id: string) => known.has(id) || (await getApproval(id)) !== undefined;
  const getSession = async (id: string) => {
    const session = await store.getSession(id);
    if (!session) return undefined;
    // An inner session has the name of its agent.
    const chat = session.chat === id ? session : await store.getSession(session.chat);
    return chat?.appName === appName ? session : undefined;
  };

  return overrideStore<AppStore>(store as AppStore, {
    openChat: (chat, limits) => store.openChat({ ...chat, appName }, limits),
    findChat: (owner, name) => store.findChat(owner, name, appName),
    listChats: ({ owner }, page) => store.listChats({ owner, appName }, page),
    unchangedChats: (range) => store.unchangedChats({ ...range, appName }),
    trimChunks: (range) => store.trimChunks({ ...range, appName }),
    openTurns: (filter) => store.openTurns({ ...filter, appName }),
    findFile: (owner, id) => store.findFile(owner, id, appName),

    getSession,
    async deleteSession(id) {
      if (await getSession(id)) await store.deleteSession(id);
    },

    getApproval,
    createApproval: async (approval, limits) => remember(await store.createApproval(approval, limits)),
    listApprovals: async (filter) => (await store.listApprovals({ ...filter, appName })).map(remember),
    dueApprovals: async (batch) => (await store.dueApprovals({ ...batch, appName })).map(remember),
    approvalPage: (filter, page) => store.approvalPage({ ...filter, appName }, page),
    async move(id, change) {
      return (await isOwn(id)) ? store.move(id, change) : { moved: false, approval: undefined };
    },
    async renewLease(id, fence, leaseMs) {
      return (await isOwn(id)) && store.renewLease(id, fence, leaseMs);
    },
    async markTold(id, as) {
      return (await isOwn(id)) && store.markTold(id, as);
    },
    async markShown(id) {
      return (await isOwn(id)) && store.markShown(id);
    },

    renewChats: (leaseMs) => store.renewChats(leaseMs, { appName }),
    takePosted: () => store.takePosted({ appName }),
    notePresence: (keys, ms) => store.notePresence(keys.map(ofApp), ms),
    isPresentElsewhere: (key) => store.isPresentElsewhere(ofApp(key)),
  });

  function ofApp(key: string): string {
    return JSON.stringify([appName, key]);
  }
}
