import type { Approval, Change, JsonObject, NewApproval, Store } from "../../stores/index.ts";
import { overrideStore } from "../../stores/override-store.ts";
import type { FileLimits } from "./file-options.ts";
import { GatheredFiles } from "./gathered-files.ts";
import { hasInlinedFile, InlineFiles } from "./inline-files.ts";
import { keepEntry } from "./keep-entry.ts";
import { keepEvent } from "./keep-event.ts";
import { cutErrorText, keepResponse } from "./large-outputs.ts";

/**
 * The store as the agent's side uses it. What is too large or not safe for clients is taken out on the way in: files and
 * large outputs are stored as files of their chat, and the log, the messages, the events and the rows refer to them. On
 * the way out of the log and the messages, files that travel as data URLs are put back; `messagesAfter` leaves that to
 * `FilesByValue`, which knows how much room there is.
 *
 * A file is stored before what refers to it. If the process dies in between, it is a file without use that goes with its
 * chat.
 */
export function keepingStore<S extends Store>(store: S, limits: FileLimits): S {
  const own: Partial<Store> = {
    append(chat, entries, withdrawal) {
      const files = new GatheredFiles();
      const kept = entries.map((entry) => keepEntry(entry, limits, files));
      const put = withdrawal?.put.map((event) => ({ ...event, event: keepEvent(event.event, limits, files) }));
      const append = () => store.append(chat, kept, withdrawal && { ...withdrawal, put: put ?? [] });
      // Without files this must not wait, because appends keep the order in which they are made.
      return files.isEmpty ? append() : files.save(store, chat).then(append);
    },

    async appendEvents(sessionId, events) {
      const files = new GatheredFiles();
      const kept = events.map(({ id, event }) => ({ id, event: keepEvent(event, limits, files) }));
      const session = files.isEmpty ? undefined : await store.getSession(sessionId);
      if (session) await files.save(store, session.chat);
      return store.appendEvents(sessionId, kept);
    },

    async read(chat, range) {
      const entries = await store.read(chat, range);
      if (!entries.some(hasInlinedFile)) return entries;
      const inlined = new InlineFiles(store, chat);
      return Promise.all(entries.map((entry) => inlined.entry(entry)));
    },

    watch(chat, listener) {
      // Without the entries the listener reads the log, which has the files.
      return store.watch(chat, ({ entries, ...news }) =>
        listener(entries && !entries.some(hasInlinedFile) ? { ...news, entries } : news),
      );
    },

    async messages(chat, range) {
      const inlined = new InlineFiles(store, chat, { isBounded: true });
      const messages = await store.messages(chat, range);
      // The newest first: they are the ones that fit.
      for (let index = messages.length - 1; index >= 0; index -= 1) {
        const message = messages[index];
        if (message) messages[index] = await inlined.stored(message);
      }
      return messages;
    },

    async getMessage(chat, id) {
      const message = await store.getMessage(chat, id);
      return message && new InlineFiles(store, chat).stored(message);
    },

    async lastMessage(chat, role) {
      const message = await store.lastMessage(chat, role);
      return message && new InlineFiles(store, chat).stored(message);
    },

    async appendEvent(sessionId, event) {
      const files = new GatheredFiles();
      const kept = keepEvent(event.event, limits, files);
      const session = files.isEmpty ? undefined : await store.getSession(sessionId);
      if (session) await files.save(store, session.chat);
      return store.appendEvent(sessionId, { ...event, event: kept });
    },

    async createApproval(approval, options) {
      const files = new GatheredFiles();
      const kept = keepOutcome(approval, limits, files);
      if (!files.isEmpty) await files.save(store, approval.chat);
      return store.createApproval(kept, options);
    },

    async move(id, change) {
      const files = new GatheredFiles();
      const kept = keepOutcome(change, limits, files);
      const row = files.isEmpty ? undefined : await store.getApproval(id);
      if (row) await files.save(store, row.chat);
      return store.move(id, kept);
    },
  };
  return overrideStore<S>(store, own as Partial<S>);
}

/** The outcome of a row, and what its tool said when it had begun, without what is too large. */
function keepOutcome<T extends NewApproval | Change>(
  value: T,
  { largeOutputBytes }: FileLimits,
  files: GatheredFiles,
): T {
  const { outcome, interim } = value as Pick<Approval, "outcome" | "interim">;
  const error = outcome?.["error"];
  // The text of an error is shown as it is, so it has no address.
  const isError = outcome !== undefined && Object.keys(outcome).length === 1 && typeof error === "string";
  const keep = (output: JsonObject) => keepResponse(output, largeOutputBytes, files);
  return {
    ...value,
    ...(outcome && { outcome: isError ? { error: cutErrorText(error) } : keep(outcome) }),
    ...(interim && { interim: keep(interim) }),
  };
}
