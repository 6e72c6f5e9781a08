import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startScriptedGemini } from "adk-stream-protocol/testing";
import type { ApprovalView } from "adk-stream-protocol/protocol";
import type { UIMessage } from "ai";
import { describe, expect, it, vi } from "vitest";
import { startKillServer } from "../fixtures/kill-process.ts";
import type { KillPoint, KillServerSettings } from "../fixtures/kill-server.ts";
import { stageRules } from "../fixtures/stage.ts";
import { majors } from "../fixtures/stock-chat.ts";
import { receive, userMessage } from "../fixtures/world.ts";

interface Case {
  point: KillPoint;
  effect?: KillServerSettings["effect"];
  /** How the person answers. */
  way?: "in the chat" | "outside";
  approved?: boolean;
  /** What the next process finds before the person does anything. */
  found: "nothing" | "pending" | "settled";
  state: ApprovalView["state"];
  paid: number;
}

/** If the state is indeterminate, `paid` is what had been paid when the process died. */
const cases: readonly Case[] = [
  { point: "P1", found: "nothing", state: "succeeded", paid: 1 },
  { point: "P2", found: "pending", state: "succeeded", paid: 1 },
  { point: "P3", found: "pending", state: "succeeded", paid: 1 },
  { point: "P4", found: "pending", state: "succeeded", paid: 1 },
  { point: "P4", way: "outside", found: "pending", state: "succeeded", paid: 1 },
  { point: "P5", found: "settled", state: "succeeded", paid: 1 },
  { point: "P5", way: "outside", found: "settled", state: "succeeded", paid: 1 },
  { point: "P5", way: "outside", approved: false, found: "settled", state: "denied", paid: 0 },
  { point: "P6", found: "settled", state: "succeeded", paid: 1 },
  { point: "P7", found: "settled", state: "indeterminate", paid: 0 },
  { point: "P7", effect: "idempotent", found: "settled", state: "succeeded", paid: 1 },
  { point: "P8", found: "settled", state: "indeterminate", paid: 1 },
  { point: "P8", effect: "idempotent", way: "outside", found: "settled", state: "succeeded", paid: 1 },
  { point: "P9", found: "settled", state: "indeterminate", paid: 1 },
  { point: "P9", effect: "idempotent", found: "settled", state: "succeeded", paid: 1 },
  { point: "P10", found: "settled", state: "succeeded", paid: 1 },
  { point: "P11", found: "settled", state: "succeeded", paid: 1 },
  { point: "P12", found: "settled", state: "succeeded", paid: 1 },
  { point: "P12", way: "outside", found: "settled", state: "succeeded", paid: 1 },
];

const wordsOf = (messages: UIMessage[]) =>
  parts(messages).flatMap((part) =>
    part.type === "text" && part.text.includes("process_payment gave") ? part.text : [],
  );
const post = (url: string, body: unknown) =>
  fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
const read = async <T>(url: string): Promise<T> => (await (await fetch(url)).json()) as T;
const say = async (url: string, words: string) =>
  receive(await post(`${url}/stream`, { id: "chat-1", messages: [userMessage(words)], trigger: "submit-message" }));
const ledger = async (url: string) =>
  (await read<{ approvals: ApprovalView[] }>(`${url}/approvals?chat=chat-1`)).approvals;

async function answer(
  url: string,
  { id, toolCallId }: ApprovalView,
  { way = "in the chat", approved = true }: Case,
): Promise<Response> {
  if (way === "outside") return post(`${url}/approvals/${id}`, { approved, key: `key-of-${id}` });
  const part = {
    type: "tool-process_payment",
    toolCallId,
    state: "approval-responded",
    input: {},
    approval: { id, approved },
  };
  const response = await post(`${url}/stream`, {
    id: "chat-1",
    messages: [{ id: "any", role: "assistant", parts: [part] }],
    trigger: "submit-message",
  });
  await response.clone().text();
  return response;
}

const isSettled = ({ state }: ApprovalView) => !["pending", "approved", "executing"].includes(state);
const parts = (messages: UIMessage[]) => messages.flatMap((message) => message.parts);

describe.concurrent("kill -9", () => {
  for (const story of cases) {
    const { point, effect = "opaque", way = "in the chat", approved = true, found, state, paid } = story;
    it(
      `at ${point}, ${approved ? "yes" : "no"} ${way}, ${effect} tool: ${state}, ${paid} paid`,
      { timeout: 120_000 },
      async () => {
        const folder = mkdtempSync(join(tmpdir(), "bridge-kill-"));
        const gemini = await startScriptedGemini({ rules: stageRules });
        const settings = { folder, gemini: gemini.url, effect };
        const payments = () =>
          existsSync(join(folder, "payments")) ? readFileSync(join(folder, "payments"), "utf8").trim().split("\n") : [];
        const first = await startKillServer({ ...settings, point });
        let second: Awaited<ReturnType<typeof startKillServer>> | undefined;
        try {
          let question: ApprovalView | undefined;
          let acknowledged = false;
          try {
            await say(first.url, "pay");
            [question] = await ledger(first.url);
            acknowledged = (await answer(first.url, question!, story)).ok;
          } catch {
            // The process died during a request, as planned.
          }
          expect(await first.ended).toEqual([null, "SIGKILL"]);

          second = await startKillServer(settings);
          const { url } = second;
          const settled = () =>
            vi.waitFor(
              async () => {
                const { running, approvals } = await read<{ running: boolean; approvals: ApprovalView[] }>(
                  `${url}/approvals?chat=chat-1`,
                );
                expect(running).toBe(false);
                expect(approvals.every((row) => isSettled(row) || row.state === "pending")).toBe(true);
                return approvals;
              },
              { timeout: 15_000, interval: 20 },
            );
          let rows = await settled();
          expect(rows.map((row) => (isSettled(row) ? "settled" : row.state)).join() || "nothing").toBe(found);
          if (question)
            expect(rows.map(({ id, digest }) => ({ id, digest }))).toEqual([
              { id: question.id, digest: question.digest },
            ]);
          if (acknowledged) expect(rows[0]!.decidedBy).toBe("local");
          if (found === "nothing") {
            // The reply went on by itself: the model was told that its call was interrupted, and said so.
            await vi.waitFor(async () => {
              const page = await read<{ messages: UIMessage[] }>(`${url}/stream/chat-1/messages`);
              expect(wordsOf(page.messages)).toEqual([expect.stringContaining("interrupted")]);
            });
            await say(url, "pay");
            rows = await ledger(url);
          }
          // The client sends the answer again. If the first process had recorded the decision, this changes nothing.
          const reply = await answer(url, rows[0]!, story);
          expect(reply.status).toBe(state === "indeterminate" && way === "outside" ? 409 : 200);
          rows = await settled();

          expect(rows.map((row) => row.state)).toEqual([state]);
          expect(payments()).toEqual(Array.from({ length: paid }, () => rows[0]!.id));
          const { messages } = await read<{ messages: UIMessage[] }>(`${url}/stream/chat-1/messages`);
          for (const [, ai] of majors) await ai.validateUIMessages({ messages });
          const call = parts(messages).findLast(({ type }) => type === "tool-process_payment") as
            | { state?: string }
            | undefined;
          const shown = { succeeded: "output-available", denied: "output-denied", indeterminate: "output-error" }[
            state as "succeeded"
          ];
          expect(call?.state).toBe(shown);
          expect(parts(messages).find((part) => part.type === "data-approval")).toMatchObject({ data: { state } });
          const said = wordsOf(messages).slice(found === "nothing" ? 1 : 0);
          expect(said, "the model's words about the outcome").toHaveLength(1);
          expect(said[0]!.split("process_payment gave")).toHaveLength(2);
          expect(gemini.requests.flatMap(({ pairingErrors }) => pairingErrors)).toEqual([]);
          expect(
            (
              await receive(
                await post(`${url}/stream`, {
                  id: "chat-1",
                  messages: [userMessage("hello")],
                  trigger: "submit-message",
                }),
              )
            ).done,
          ).toBe(1);
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
  }
});
