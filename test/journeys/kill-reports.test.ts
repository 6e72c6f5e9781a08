import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ApprovalView } from "adk-stream-protocol/protocol";
import { call, type Rule, startScriptedGemini, text } from "adk-stream-protocol/testing";
import { describe, expect, it, vi } from "vitest";
import { startKillServer } from "../fixtures/kill-process.ts";
import type { KillPoint } from "../fixtures/kill-server.ts";
import { receive, userMessage } from "../fixtures/world.ts";

const rules: readonly Rule[] = [
  { when: ({ contents }) => contents.at(-1)?.parts?.at(-1)?.text === "deploy", say: [call("deploy")] },
  { say: [text("All right.")] },
];
const post = (url: string, body: unknown) =>
  fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
const say = async (url: string, words: string) =>
  receive(await post(`${url}/stream`, { id: "chat-1", messages: [userMessage(words)], trigger: "submit-message" }));
const row = async (url: string) => {
  const response = await fetch(`${url}/approvals?chat=chat-1`);
  return ((await response.json()) as { approvals: ApprovalView[] }).approvals[0]!;
};

/** Where the first process dies: around the beginning, or around the record of the report. */
const points: [KillPoint, ApprovalView["state"]][] = [
  ["P13", "indeterminate"],
  ["P14", "waiting"],
  ["P9", "waiting"],
  ["P10", "succeeded"],
];

describe.concurrent("kill -9 while a call is reported", () => {
  for (const [point, found] of points)
    it(
      `at ${point}: found ${found}, the report is recorded once, and the call has begun once`,
      { timeout: 60_000 },
      async () => {
        const folder = mkdtempSync(join(tmpdir(), "bridge-kill-"));
        const gemini = await startScriptedGemini({ rules });
        const settings = { folder, gemini: gemini.url, effect: "opaque" } as const;
        const begun = () => readFileSync(join(folder, "payments"), "utf8").trim().split("\n");
        const report = (url: string) => post(`${url}/calls/${begun()[0]}`, { result: { url: "shop.example" } });
        const first = await startKillServer({ ...settings, point });
        let second: Awaited<ReturnType<typeof startKillServer>> | undefined;
        try {
          try {
            await say(first.url, "deploy");
            await post(`${first.url}/approvals/${(await row(first.url)).id}`, { approved: true });
            const hasDied = () => first.child.signalCode !== null;
            await vi.waitFor(async () => expect(hasDied() || (await row(first.url)).state === "waiting").toBe(true), {
              timeout: 10_000,
            });
            await report(first.url);
          } catch {
            // The process died during a request, as planned.
          }
          expect(await first.ended).toEqual([null, "SIGKILL"]);

          second = await startKillServer(settings);
          const { url } = second;
          await vi.waitFor(async () => expect((await row(url)).state).toBe(found), { timeout: 10_000 });
          // The sender of the report got no reply and sends it again, twice at once.
          const replies = await Promise.all([report(url), report(url)]);
          expect(replies.map(({ status }) => status)).toEqual([200, 200]);
          expect((await post(`${url}/calls/${begun()[0]}`, { error: "no" })).status).toBe(409);
          expect(await row(url)).toMatchObject({ state: "succeeded", output: { url: "shop.example" } });
          expect(begun()).toHaveLength(1);
          await say(url, "hello");
          const sent = JSON.stringify(gemini.requests.at(-1)!.contents);
          expect(sent.split("shop.example")).toHaveLength(2);
          expect(gemini.requests.flatMap(({ pairingErrors }) => pairingErrors)).toEqual([]);
        } finally {
          for (const server of [first, second])
            if (server && server.child.exitCode === null && server.child.signalCode === null)
              server.child.kill("SIGKILL");
          await gemini.close();
          rmSync(folder, { recursive: true, force: true });
        }
      },
    );
});
