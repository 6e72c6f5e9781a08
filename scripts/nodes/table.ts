import type { NodeState } from "./demo-node.ts";
import type { Target } from "./balancer.ts";

export interface NodeRow {
  port: number;
  process: NodeState;
  /** How the balancer sees it. */
  balancer: Target["state"];
  /** Undefined while the database is away. */
  chats: number | undefined;
  sockets: number;
  /** Requests whose response is not complete. */
  requests: number;
}

export interface TableOptions {
  /** The node that the keys are for. */
  chosen?: number;
  /** False leaves out the counts. */
  counts?: boolean;
}

/** What is where, as lines of text. */
export function table(rows: readonly NodeRow[], { chosen, counts = true }: TableOptions = {}): string[] {
  const cells = [
    ["", "node", "port", "state", ...(counts ? ["chats held", "sockets", "requests"] : [])],
    ...rows.map((row, index) => [
      index === chosen ? ">" : "",
      String(index + 1),
      String(row.port),
      stateOf(row),
      ...(counts
        ? [row.process === "ended" ? "-" : String(row.chats ?? "?"), String(row.sockets), String(row.requests)]
        : []),
    ]),
  ];
  const widths = cells[0]?.map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0))) ?? [];
  return cells.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** The state of a node in words. A process that runs may still get no requests. */
function stateOf(row: NodeRow): string {
  if (row.process !== "running") return row.process;
  return { ready: "ready", busy: "not ready", silent: "no reply" }[row.balancer];
}
