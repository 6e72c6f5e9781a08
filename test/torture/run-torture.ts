/**
 * A torture run: nodes, a balancer, a database and a model in processes of their own; people with their chats; and faults.
 * Afterwards the database and what people were told are checked against the promises of the README.
 */
import { setTimeout as delay } from "node:timers/promises";
import { clientModel } from "./approval-models.ts";
import { checkChat, findTellings } from "./check-chat.ts";
import { Client } from "./client.ts";
import { type Cluster, openCluster } from "./cluster.ts";
import { History } from "./history.ts";
import { findOrder } from "./linearizable.ts";
import { faults, torment } from "./nemesis.ts";
import { Person } from "./person.ts";
import { randomFrom } from "./random.ts";
import { type DatabaseState, readChats } from "./read-chats.ts";

export interface TortureOptions {
  seed: number;
  nodes: number;
  chats: number;
  leaseMs: number;
  /** How long things go wrong. Undefined: until each fault has happened once. */
  ms?: number;
  /** How many people are busy at the same time. */
  atOnce: number;
  restMs: number;
  /** The folder of another release of the package, which the last node runs. */
  beside?: string | undefined;
  print: (line: string) => void;
}

export interface TortureResult {
  violations: string[];
  counts: Record<string, number>;
  /** How long turns stood still whose node was killed or paused, in lease times, shortest first. */
  handovers: number[];
}

export async function runTorture(options: TortureOptions): Promise<TortureResult> {
  const { seed, nodes, chats, leaseMs, beside, print } = options;
  const cluster = await openCluster({ seed, nodes, leaseMs, beside, approvalTtlMs: 6 * leaseMs });
  try {
    const history = new History();
    const client = new Client(cluster.balancer.url, 4 * leaseMs);
    const people = Array.from({ length: chats }, (_, index) => {
      const chat = `chat-${index + 1}`;
      return new Person({ chat, seed, client, history, patienceMs: 20 * leaseMs, lastPatienceMs: 90_000 });
    });
    await play(people, cluster, history, options);
    print("The faults are over. Everyone says a last word, and the nodes stop.");
    const stuck = await finish(people, options.atOnce);
    await Promise.all(cluster.nodes.map((node) => node.drain()));
    const state = await readChats(
      cluster.url,
      people.map(({ chat }) => chat),
    );
    const model = await cluster.modelRequests();
    const violations = [
      ...stuck.map((chat) => `${chat}: something is still open long after the faults`),
      ...cluster.deaths,
      ...history.wrong,
      ...model.refused.map((error) => `the model was sent a history that is not well formed: ${error}`),
      ...checkLeft(state),
      ...state.chats.flatMap((chat) => checkChat(chat, history.acknowledged)),
      ...checkOrder(history),
    ];
    return {
      violations,
      counts: countAll(history, state, cluster, model.requests),
      handovers: cluster.handovers.measure(state.chats).map((ms) => ms / leaseMs),
    };
  } finally {
    await cluster.close();
  }
}

/** Lets people talk while things go wrong. */
async function play(people: readonly Person[], cluster: Cluster, history: History, options: TortureOptions) {
  const { seed, ms, atOnce, restMs, print } = options;
  const over = new AbortController();
  if (ms !== undefined) setTimeout(() => over.abort(), ms).unref();
  const queue = [...people];
  const worker = async () => {
    while (!over.signal.aborted) {
      const next = queue.shift();
      if (!next) return;
      await next.round();
      queue.push(next);
    }
  };
  const workers = Promise.all(Array.from({ length: Math.min(atOnce, people.length) }, worker));
  const begun = performance.now();
  await torment({
    ...{ cluster, restMs, signal: over.signal, random: randomFrom(seed, "nemesis") },
    rounds: ms === undefined ? 1 : Infinity,
    onFault: (name, node) => {
      history.count(`times ${name}`);
      print(`${((performance.now() - begun) / 1000).toFixed(1).padStart(7)} s  ${node}: ${name}`);
    },
  });
  over.abort();
  await workers;
}

/** The chats in which something is still open although people are patient. */
async function finish(people: readonly Person[], atOnce: number): Promise<string[]> {
  const stuck: string[] = [];
  const queue = [...people];
  const worker = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) if (!(await next.finish())) stuck.push(next.chat);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, people.length) }, worker));
  // A turn that has ended gives its chat back a moment later.
  await delay(200);
  return stuck;
}

function checkLeft({ left }: DatabaseState): string[] {
  return Object.entries(left)
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `${count} ${what} are left`);
}

/** What clients were told about each approval is explained by one order of their requests. */
function checkOrder({ operations, reported }: History): string[] {
  const [ofServer, ofClients] = [clientModel(false), clientModel(true)];
  return [...operations]
    .filter(([id, history]) => findOrder(reported.has(id) ? ofClients : ofServer, history) === undefined)
    .map(
      ([approval, history]) => `the history of approval ${approval} is not linearizable: ${JSON.stringify(history)}`,
    );
}

function countAll(history: History, state: DatabaseState, cluster: Cluster, modelRequests: number) {
  const approvals = state.chats.flatMap((chat) => chat.approvals);
  const states: Record<string, number> = {};
  for (const { state: name, toolName, session, chat } of approvals)
    for (const what of [
      `approvals ${name}`,
      `calls of ${toolName}`,
      ...(session === chat ? [] : ["calls by the clerk"]),
    ])
      states[what] = (states[what] ?? 0) + 1;
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  return {
    chats: state.chats.length,
    "entries in the logs": sum(state.chats.map(({ log }) => log.length)),
    "acknowledged messages": history.acknowledged.length,
    approvals: approvals.length,
    ...Object.fromEntries(Object.entries(states).toSorted(([a], [b]) => a.localeCompare(b))),
    "histories checked": history.operations.size,
    "operations in them": sum([...history.operations.values()].map(({ length }) => length)),
    "attempts of tools": state.attempts,
    "effects of tools": state.effects,
    "results that the model was told": state.chats.flatMap(findTellings).filter(({ isKnown }) => isKnown).length,
    "requests to the model": modelRequests,
    ...Object.fromEntries(Object.keys(faults).map((name) => [`times ${name}`, 0])),
    ...Object.fromEntries([...history.counts].toSorted(([a], [b]) => a.localeCompare(b))),
    ...Object.fromEntries([...cluster.errors].map(([error, times]) => [`logged: ${error}`, times])),
  };
}
