/** What goes wrong in a torture run, one thing after the other, by a seeded schedule. */
import { setTimeout as delay } from "node:timers/promises";
import type { Cluster, TortureNode } from "./cluster.ts";
import type { Random } from "./random.ts";

type Fault = (cluster: Cluster, node: TortureNode) => Promise<void>;

/** Each fault is over, and its node runs again, when it resolves. */
export const faults: Readonly<Record<string, Fault>> = {
  async "a node was killed"({ leaseMs, handovers }, node) {
    await node.kill();
    await handovers.note(node.id);
    await delay(leaseMs);
    await node.start();
  },
  async "a node was paused for longer than its lease"({ leaseMs, handovers }, node) {
    const woken = node.pause(2.5 * leaseMs);
    await handovers.note(node.id);
    await woken;
  },
  async "a node was drained"(_, node) {
    await node.drain();
    await node.start();
  },
  "the database was restarted": ({ postgres }) => postgres.restart(),
  async "the database was killed"({ postgres, leaseMs }) {
    await postgres.kill();
    await delay(leaseMs / 2);
    await postgres.start();
  },
  "the database failed over to another server": ({ postgres }) => postgres.failOver(),
  async "the connections of a node to the database were cut"({ leaseMs }, { proxy }) {
    for (let times = 0; times < 3; times += 1) {
      proxy.cut();
      await delay(leaseMs / 6);
    }
  },
  async "a node was cut off from the database"({ leaseMs }, { proxy }) {
    proxy.refuse(true);
    proxy.cut();
    await delay(1.5 * leaseMs);
    proxy.refuse(false);
  },
  async "the database went silent for a node"({ leaseMs }, { proxy }) {
    proxy.stall();
    await delay(1.5 * leaseMs);
    proxy.cut();
  },
  async "the connections of all clients were cut"({ balancer, leaseMs }) {
    for (let times = 0; times < 3; times += 1) {
      balancer.cut();
      await delay(leaseMs / 6);
    }
  },
};

export interface NemesisOptions {
  cluster: Cluster;
  random: Random;
  /** The time of rest between two faults. */
  restMs: number;
  /** Called before each fault. */
  onFault: (name: string, node: string) => void;
  /** How often each fault happens at most. */
  rounds: number;
  signal: AbortSignal;
}

/** Lets faults happen, all of them in every round, until the rounds or the time are over. */
export async function torment({ cluster, random, restMs, onFault, rounds, signal }: NemesisOptions): Promise<void> {
  for (let round = 0; round < rounds; round += 1)
    for (const [name, fault] of random.shuffle(Object.entries(faults))) {
      await delay(restMs * (0.5 + random.next()));
      const node = cluster.nodes[random.below(cluster.nodes.length)];
      if (signal.aborted || !node) return;
      onFault(name, node.name);
      await fault(cluster, node);
    }
}
