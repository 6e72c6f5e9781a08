import { describe, expect, it } from "vitest";
import { silentLogger } from "../support/index.ts";
import { Presence } from "./presence.ts";

/** What other nodes are told, one line for each statement. */
function open({ fails = false } = {}) {
  const told: string[] = [];
  const presence = new Presence({
    store: {
      notePresence: async (keys, ms) => {
        told.push(`${keys.join()} ${ms}`);
        if (fails) throw new Error("The database does not answer.");
      },
      isPresentElsewhere: async (key) => key === "elsewhere",
    },
    logger: silentLogger,
    leaseMs: 1000,
  });
  return { presence, told };
}
const tick = () => new Promise((resolve) => setImmediate(resolve));

describe("presence", () => {
  it("tells other nodes at once about the first client of a chat, and about the last that leaves", async () => {
    const { presence, told } = open();
    const leave = [presence.attach("a"), presence.attach("a")];
    expect(told).toEqual(["a 1000"]);
    await tick();
    leave[0]?.();
    leave[0]?.();
    await tick();
    expect(told).toEqual(["a 1000"]);
    expect(await presence.isUsed("a")).toBe(true);
    leave[1]?.();
    await tick();
    expect(told).toEqual(["a 1000", "a 0"]);
    expect(await presence.isUsed("a")).toBe(false);
    expect(await presence.isUsed("elsewhere")).toBe(true);
  });

  it("tells what changes meanwhile together, and as it is then", async () => {
    const { presence, told } = open();
    presence.attach("a");
    const leave = presence.attach("b");
    presence.attach("c");
    leave();
    await tick();
    expect(told).toEqual(["a 1000", "c 1000", "b 0"]);
    expect(presence.keys).toEqual(["a", "c"]);
  });

  it("goes on after the database was away", async () => {
    const { presence, told } = open({ fails: true });
    presence.attach("a");
    await tick();
    presence.attach("b");
    await tick();
    expect(told).toEqual(["a 1000", "b 1000"]);
  });
});
