/** The short form of `npm run torture`: each fault once. */
import { expect, it } from "vitest";
import { faults } from "./nemesis.ts";
import { runTorture } from "./run-torture.ts";

it("three nodes keep what they promised while each fault happens once", { timeout: 300_000 }, async () => {
  const lines: string[] = [];
  const { violations, counts } = await runTorture({
    ...{ seed: 1, nodes: 3, chats: 16, leaseMs: 1000, atOnce: 8, restMs: 200 },
    print: (line) => lines.push(line),
  });
  const logged = Object.entries(counts).filter(([name]) => name.startsWith("logged: "));
  lines.push(...logged.map(([name, count]) => `${count} × ${name}`));
  expect(violations, lines.join("\n")).toEqual([]);
  expect(counts).toMatchObject(Object.fromEntries(Object.keys(faults).map((name) => [`times ${name}`, 1])));
  for (const name of ["approvals succeeded", "approvals denied", "acknowledged messages"])
    expect(counts[name], name).toBeGreaterThan(2);
});
