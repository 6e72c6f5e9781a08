import { expect, test } from "vitest";
import { table } from "./table.ts";

test("shows what is where, and which node was chosen", () => {
  const usual = { process: "running", balancer: "ready", chats: 2, sockets: 1, requests: 0 } as const;
  const lines = table(
    [
      { ...usual, port: 3001 },
      { ...usual, port: 3002, balancer: "busy", chats: undefined },
      { ...usual, port: 3003, process: "ended", sockets: 0 },
    ],
    { chosen: 1 },
  );
  expect(lines).toEqual([
    "   node  port  state      chats held  sockets  requests",
    "   1     3001  ready      2           1        0",
    ">  2     3002  not ready  ?           1        0",
    "   3     3003  ended      -           0        0",
  ]);
  expect(table([{ ...usual, port: 3001 }], { counts: false }).at(-1)).toBe("  1     3001  ready");
});
