import { expect, test } from "vitest";
import { LogReader } from "../../agent/log/log-reader.ts";
import { memoryStore } from "../../stores/memory.ts";
import { overrideStore } from "../../stores/override-store.ts";
import { ChatFollower } from "./chat-follower.ts";
import type { ChatFrameWriter } from "./chat-frame-writer.ts";
import type { WireContext } from "./wire-context.ts";

test("a follower that cannot read closes its socket and reads nothing more", async () => {
  const memory = memoryStore();
  const { id } = await memory.openChat({ owner: "me", name: "chat", appName: "agent" });
  let reads = 0;
  const store = overrideStore(memory, {
    async read() {
      reads += 1;
      throw new Error("The database is away.");
    },
  });
  const failures: unknown[] = [];
  let logs = 0;
  const context = {
    owner: "me",
    numbered: true,
    bridge: {
      async follow(_owner: string, _chat: string, options: ConstructorParameters<typeof LogReader>[2]) {
        logs += 1;
        return new LogReader(store, id, options);
      },
    },
    turnView: () => undefined,
    fail: (error: unknown) => void failures.push(error),
  };
  const follower = new ChatFollower(context as unknown as WireContext, {} as ChatFrameWriter, "chat", {
    kind: "next",
    sequence: 0,
  });
  await expect.poll(() => failures).toHaveLength(1);
  await memory.append(id, [{ kind: "begin", turn: "turn", reply: "reply" }]);
  // The watch tells its listeners before anything else can happen, and what they begin takes a few steps.
  await new Promise((resolve) => setImmediate(resolve));
  expect([reads, logs, failures.length]).toEqual([1, 1, 1]);
  follower.stop();
});
