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
const said = (id: string, text: string): UIMessage => ({ id, role: "user", parts: [{ type: "text", text }] });
const rows = (state: ApprovalState) => new Map([["a", { approvalId: "a", state } as ApprovalView]]);
const facts = { rows: new Map<string, ApprovalView>(), ranHere: new Set<string>(), failed: false };

test("the server's messages replace ours", () => {
  const server = [said("u", "hi"), reply({ type: "text", text: "new" })];
  expect(mergeMessages(server, [said("u", "hi"), reply({ type: "text", text: "old" })], facts)).toEqual(server);
});

test("an answer that has not arrived stays", () => {
  expect(mergeMessages([reply(asked)], [reply(answered)], facts)).toEqual([reply(answered)]);
  expect(mergeMessages([reply(asked)], [reply(answered)], { ...facts, rows: rows("pending") })).toEqual([
    reply(answered),
  ]);
});

test("an answer that lost against expiry or another tab does not", () => {
  expect(mergeMessages([reply(asked)], [reply(answered)], { ...facts, rows: rows("expired") })).toEqual([reply(asked)]);
  const denied = pay({ state: "output-denied", approval: { id: "a", approved: false } });
  expect(mergeMessages([reply(denied)], [reply(answered)], facts)).toEqual([reply(denied)]);
});

test("a browser tool's output made here stays until the server has one", () => {
  const mine = pay({ state: "output-available", output: 1 });
  const open = pay({ state: "input-available" });
  expect(mergeMessages([reply(open)], [reply(mine)], { ...facts, ranHere: new Set(["c"]) })).toEqual([reply(mine)]);
  expect(mergeMessages([reply(open)], [reply(mine)], facts)).toEqual([reply(open)]);
});

test("a message whose request failed stays at the end", () => {
  const server = [said("u1", "hi"), reply({ type: "text", text: "hello" })];
  const local = [...server, said("u2", "pay")];
  expect(mergeMessages(server, local, { ...facts, failed: true })).toEqual(local);
  expect(mergeMessages(server, local, facts)).toEqual(server);
});

test("a message that arrived although its request failed is not doubled", () => {
  const server = [said("u1", "hi")];
  expect(mergeMessages(server, [said("u1", "hi")], { ...facts, failed: true })).toEqual(server);
  expect(mergeMessages([said("other", "hi")], [said("u1", "hi")], { ...facts, failed: true })).toEqual([
    said("other", "hi"),
  ]);
});

test("tells whether something is still to be sent", () => {
  const server = [reply(asked)];
  expect(hasUnsent(mergeMessages(server, [reply(answered)], facts), server)).toBe(true);
  expect(hasUnsent(mergeMessages(server, [reply(asked)], facts), server)).toBe(false);
});
