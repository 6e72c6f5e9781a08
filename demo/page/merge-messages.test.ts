import type { ApprovalState, ApprovalView } from "adk-stream-protocol/protocol";
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { hasUnsent, mergeMessages } from "./merge-messages.ts";

type Part = UIMessage["parts"][number];

const pay = (change: object): Part => ({
  type: "tool-pay",
  toolCallId: "c",
  state: "input-available",
  input: {},
  ...change,
});
const asked = pay({ state: "approval-requested", approval: { id: "a" } });
const answered = pay({ state: "approval-responded", approval: { id: "a", approved: true } });
const reply = (...parts: Part[]): UIMessage => ({ id: "m", role: "assistant", parts });
const userText = (id: string, text: string): UIMessage => ({ id, role: "user", parts: [{ type: "text", text }] });
const rows = (state: ApprovalState) => new Map([["a", { approvalId: "a", state } as ApprovalView]]);
const facts = { rows: new Map<string, ApprovalView>(), ranHere: new Set<string>(), failed: false };

test("the server's messages replace the page's", () => {
  const server = [userText("u", "hi"), reply({ type: "text", text: "new" })];
  expect(mergeMessages(server, [userText("u", "hi"), reply({ type: "text", text: "old" })], facts)).toEqual(server);
});

test("an answer that the server does not have yet stays", () => {
  expect(mergeMessages([reply(asked)], [reply(answered)], facts)).toEqual([reply(answered)]);
  expect(mergeMessages([reply(asked)], [reply(answered)], { ...facts, rows: rows("pending") })).toEqual([
    reply(answered),
  ]);
});

test("an answer that came after an expiry or another tab's answer is dropped", () => {
  expect(mergeMessages([reply(asked)], [reply(answered)], { ...facts, rows: rows("expired") })).toEqual([reply(asked)]);
  const denied = pay({ state: "output-denied", approval: { id: "a", approved: false } });
  expect(mergeMessages([reply(denied)], [reply(answered)], facts)).toEqual([reply(denied)]);
});

test("a browser tool's output from this page stays until the server has one", () => {
  const mine = pay({ state: "output-available", output: 1 });
  const open = pay({ state: "input-available" });
  expect(mergeMessages([reply(open)], [reply(mine)], { ...facts, ranHere: new Set(["c"]) })).toEqual([reply(mine)]);
  expect(mergeMessages([reply(open)], [reply(mine)], facts)).toEqual([reply(open)]);
});

test("a message whose request failed stays at the end", () => {
  const server = [userText("u1", "hi"), reply({ type: "text", text: "hello" })];
  const local = [...server, userText("u2", "pay")];
  expect(mergeMessages(server, local, { ...facts, failed: true })).toEqual(local);
  expect(mergeMessages(server, local, facts)).toEqual(server);
});

test("a message that the server has although its request failed is not shown twice", () => {
  const server = [userText("u1", "hi")];
  expect(mergeMessages(server, [userText("u1", "hi")], { ...facts, failed: true })).toEqual(server);
  expect(mergeMessages([userText("other", "hi")], [userText("u1", "hi")], { ...facts, failed: true })).toEqual([
    userText("other", "hi"),
  ]);
});

test("knows whether something has not been sent yet", () => {
  const server = [reply(asked)];
  expect(hasUnsent(mergeMessages(server, [reply(answered)], facts), server)).toBe(true);
  expect(hasUnsent(mergeMessages(server, [reply(asked)], facts), server)).toBe(false);
});
