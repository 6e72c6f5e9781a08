import { describe, expect, it } from "vitest";
import type { Approval } from "../../stores/index.ts";
import { memoryStore } from "../../stores/memory.ts";
import { newApproval } from "../../../test/contracts/store.ts";
import { UnseenQuestions } from "./unseen-questions.ts";

const ttlMs = 100;

/** A chat whose questions no one answers. */
async function open() {
  const clock = { now: 1000 };
  const store = memoryStore({ now: () => clock.now });
  const chat = await store.openChat({ owner: "alice", name: "first", appName: "app" });
  const said: { at?: number } = {};
  const newUnseen = () => new UnseenQuestions({ store, lastMessageAt: async () => said.at });
  const unseen = newUnseen();
  let count = 0;
  /** A question that expires. */
  const expire = async (fields: Partial<Parameters<typeof newApproval>[2]> = {}): Promise<Approval> => {
    clock.now += 1;
    const row = await store.createApproval(
      newApproval(chat, `call-${(count += 1)}`, { input: `{"amount":${count}}`, ttlMs, startMs: ttlMs, ...fields }),
    );
    clock.now += ttlMs;
    return (await store.move(row.id, { event: "expire" })).approval ?? row;
  };
  return { clock, store, chat, said, unseen, newUnseen, expire };
}

describe("questions while the user is away", () => {
  it("make the model ask three in all", async () => {
    const { chat, unseen, expire } = await open();
    for (const mayAsk of [true, true, false, false]) {
      const row = await expire();
      expect(await unseen.mayAskModel(chat.id, [row])).toBe(mayAsk);
    }
    await expect(unseen.refusePast(chat.id)).rejects.toMatchObject({ code: "too_many" });
  });

  it("make the model ask the same one twice", async () => {
    const { chat, unseen, expire } = await open();
    const first = await expire({ input: '{"amount":5}' });
    expect(await unseen.mayAskModel(chat.id, [first])).toBe(true);
    const second = await expire({ input: '{"amount":5}' });
    expect(await unseen.mayAskModel(chat.id, [second])).toBe(false);
    await expect(unseen.refusePast(chat.id)).resolves.toBeUndefined();
  });

  it("are counted from the last visit, which a restart forgets", async () => {
    const { chat, unseen, newUnseen, expire } = await open();
    for (let round = 0; round < 3; round += 1) await expire();
    const other = await expire();
    expect(await unseen.mayAskModel(chat.id, [other])).toBe(false);
    unseen.noteVisit("bob", "first");
    unseen.noteVisit("alice", "second");
    expect(await unseen.mayAskModel(chat.id, [other])).toBe(false);
    unseen.noteVisit("alice", "first");
    const row = await expire();
    expect(await unseen.mayAskModel(chat.id, [row])).toBe(true);
    expect(await newUnseen().mayAskModel(chat.id, [row])).toBe(false);
  });

  it("are counted from the last message and the last decision, which the store knows", async () => {
    const { chat, clock, store, said, newUnseen, expire } = await open();
    for (let round = 0; round < 3; round += 1) await expire();
    expect(await newUnseen().mayAskModel(chat.id, [])).toBe(false);
    said.at = clock.now;
    expect(await newUnseen().mayAskModel(chat.id, [await expire()])).toBe(true);
    for (let round = 0; round < 2; round += 1) await expire();
    expect(await newUnseen().mayAskModel(chat.id, [])).toBe(false);
    const { id } = await store.createApproval(newApproval(chat, "decided", { ttlMs }));
    clock.now += 1;
    await store.move(id, { event: "deny", by: "alice" });
    expect(await newUnseen().mayAskModel(chat.id, [])).toBe(true);
  });

  it("include calls whose result did not come, but not agents and calls that ended otherwise", async () => {
    const { chat, unseen, store, expire } = await open();
    await expire({ gated: false, external: true, state: "approved" });
    await expire({ gated: false, external: true, state: "approved", innerSession: "inner" });
    const { id } = await store.createApproval(newApproval(chat, "cancelled", { ttlMs }));
    await store.move(id, { event: "cancel" });
    await expire();
    expect(await unseen.mayAskModel(chat.id, [])).toBe(true);
    await expire();
    expect(await unseen.mayAskModel(chat.id, [])).toBe(false);
  });

  it("need a bounded memory: the oldest visits are forgotten", async () => {
    const { chat, unseen, expire } = await open();
    for (let round = 0; round < 3; round += 1) await expire();
    unseen.noteVisit("alice", "first");
    expect(await unseen.mayAskModel(chat.id, [])).toBe(true);
    for (let index = 0; index < 10_000; index += 1) unseen.noteVisit("mallory", `chat-${index}`);
    expect(await unseen.mayAskModel(chat.id, [])).toBe(false);
  });
});
