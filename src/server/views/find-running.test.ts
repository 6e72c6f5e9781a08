import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import type { Bridge, Reading } from "../../agent/index.ts";
import { findRunning } from "./find-running.ts";

const reading = (id: string, reply = "m") => ({ chat: "chat", turn: { id, reply } }) as unknown as Reading;
const message = (id: string, text: string): UIMessage => ({ id, role: "assistant", parts: [{ type: "text", text }] });

/** A bridge whose running turn is the next of these whenever it is asked. */
function bridgeWith(running: (Reading | undefined)[], messages: UIMessage[] = []) {
  const asked: string[] = [];
  const bridge: Pick<Bridge, "resume" | "message"> = {
    resume: async () => (asked.push("resume"), running.shift()),
    message: async (_owner, _chat, id) => {
      asked.push("message");
      const found = messages.find((one) => one.id === id);
      return found && { message: found, place: 1, approvals: [] };
    },
  };
  return { bridge, asked };
}

test("finds nothing if no turn is being generated", async () => {
  const { bridge, asked } = bridgeWith([undefined]);
  expect(await findRunning(bridge, "alice", "chat", "approval")).toBeUndefined();
  expect(asked).toEqual(["resume"]);
});

test("finds the turn and the message that it continues", async () => {
  const turn = reading("t1");
  const { bridge } = bridgeWith([turn, turn], [message("other", "no"), message("m", "yes")]);
  expect(await findRunning(bridge, "alice", "chat", "tool")).toEqual({ reading: turn, message: message("m", "yes") });
});

test("finds a turn that begins a message", async () => {
  const turn = reading("t1");
  expect(await findRunning(bridgeWith([turn, turn]).bridge, "alice", "chat", "approval")).toEqual({
    reading: turn,
    message: undefined,
  });
});

test("looks again if another turn began in between", async () => {
  const [first, second] = [reading("t1"), reading("t2")];
  const { bridge, asked } = bridgeWith([first, second, second, second]);
  expect(await findRunning(bridge, "alice", "chat", "approval")).toMatchObject({ reading: second });
  expect(asked.filter((what) => what === "message")).toHaveLength(2);
  expect(await findRunning(bridgeWith([first, undefined, undefined]).bridge, "alice", "chat", "tool")).toBeUndefined();
});
