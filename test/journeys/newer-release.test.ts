/** What another node with a later release has written is read by this one: what it does not know is left alone. */
import type { NewLogEntry } from "adk-stream-protocol/stores";
import { describe, expect, it } from "vitest";
import { chat, owner } from "../fixtures/mortal-process.ts";
import { openLiveStage } from "../fixtures/live-stage.ts";
import { nodeCount } from "../fixtures/nodes.ts";
import { storeKinds } from "../fixtures/store-kinds.ts";

const settings = storeKinds.flatMap((kind) => [false, true].map((live) => ({ kind, live, store: kind.name })));

describe.each(settings)("entries of a later release (live: $live, store: $store)", ({ kind, live }) => {
  it("do not disturb a chat: it is read, followed, recovered after a crash and continued", async () => {
    const stage = await openLiveStage(kind.options());
    await stage.say("pay", { live });
    const id = (await stage.rows())[0]?.chat ?? "";
    const later = { turn: "later", kind: "later", value: { deep: 1 } } as unknown as NewLogEntry;
    const begin = { turn: "later", kind: "begin", reply: "later", hint: "unknown" } as unknown as NewLogEntry;
    const chunk = {
      turn: "later",
      kind: "chunk",
      chunk: { type: "start", messageId: "later", field: 1 },
    } as NewLogEntry;
    // A node that has the chat for its live connection would keep it.
    if (nodeCount > 1) await stage.crash();
    await stage.store.holdChat(id, 60_000);
    await stage.store.append(id, [later, begin, later, chunk]);
    await stage.store.appendEvent(id, { id: "e", event: { id: "e", author: "user", later: true }, responses: [] });
    await stage.store.releaseChats([id]);
    await stage.crash();
    await stage.untilIdle();
    expect(await stage.store.openTurns()).toEqual([]);
    const before = JSON.stringify(await stage.messages());
    expect(before).toContain("approval-requested");

    const log = await stage.bridge.follow(owner, chat, { after: 0, onNews: () => undefined });
    const kinds: string[] = [];
    while (log.hasNews) kinds.push(...(await log.read()).map((entry) => entry.kind));
    log.close();
    expect(kinds.filter((each) => each === ("later" as string))).toHaveLength(2);

    await stage.answer([{ id: (await stage.pending())[0]?.id ?? "", approved: true }], { live });
    await stage.untilIdle();
    expect(stage.payments).toHaveLength(1);
    expect(JSON.stringify((await stage.say("hello", { live })).chunks)).toContain("Hello");
    expect(stage.loggedErrors).toEqual([]);
  });
});
