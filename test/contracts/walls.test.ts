/**
 * Which folder may import which. The rules are in `.oxlintrc.json`; this test makes one file for every pair of folders in
 * a temporary directory, runs the linter over them, and compares what it refuses with the tables here.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");

const adk = ["agent/adk", "agent/adk/live"];
const leaves = ["protocol", "stores", "agent/support"];
const approval = [...leaves, ...adk];
const log = [...approval, "agent/approval"];
const conversation = [...log, "agent/log", "agent/files", "agent/turn-input.ts"];
const chat = [...conversation, "agent/conversation", "agent/turn.ts"];

/** Every folder of src, and what it may import: a folder means the files in it. Files of the same folder are free. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  stores: ["protocol"],
  testing: ["protocol"],
  client: ["protocol"],
  react: ["protocol", "client"],
  "agent/support": [],
  "agent/files": leaves,
  "agent/adk": [...leaves, ...adk],
  "agent/adk/live": [...leaves, ...adk],
  "agent/approval": approval,
  "agent/log": log,
  "agent/conversation": conversation,
  "agent/chat": chat,
  agent: [...chat, "agent/chat"],
  server: ["protocol", "agent/index.ts", "server/http", "server/websocket", "server/views"],
  "server/views": ["protocol", "agent/index.ts"],
  "server/http": ["protocol", "agent/index.ts", "server", "server/views"],
  "server/websocket": ["protocol", "agent/index.ts", "server", "server/http", "server/views"],
};
const rooms = Object.keys(mayImport);

/** The files that stand for their folders as targets. */
const targets = [
  ...rooms.map((room) => `${room}/index.ts`),
  ...rooms.map((room) => `${room}/any-file.ts`),
  "agent/turn.ts",
  "agent/turn-input.ts",
];

const agentRooms = rooms.filter((room) => room.startsWith("agent"));
const serverRooms = rooms.filter((room) => room.startsWith("server"));

/** The ways to import something, one line each. A wall holds for all of them. */
const forms = {
  import: (path: string) => `import { value } from "${path}";`,
  "import type": (path: string) => `import type { Type } from "${path}";`,
  export: (path: string) => `export { one } from "${path}";`,
  "export type": (path: string) => `export type { Another } from "${path}";`,
  "import()": (path: string) => `export const used = [value, await import("${path}")] satisfies Type;`,
};
type Form = keyof typeof forms;
const formNames = Object.keys(forms) as Form[];

const withAdk = [...agentRooms.filter((room) => room !== "agent/support"), "testing"];

/** The folders that may import a package. */
const mayUse: Readonly<Record<string, readonly string[]>> = {
  "@google/adk": withAdk,
  "@google/genai": withAdk,
  "node:http": [...serverRooms, "testing"],
  ws: [...serverRooms, "testing"],
  react: ["react"],
  "adk-stream-protocol": [],
  "adk-stream-protocol/protocol": [],
};

/** The folders that may import values of ADK, and not only types. */
const mayUseValuesOfAdk = new Set([...adk, "testing"]);

/** One folder and one thing that it imports, in every form. */
interface Pair {
  room: string;
  target: string;
}
const pairs: readonly Pair[] = rooms.flatMap((room) =>
  [...targets, ...Object.keys(mayUse)].map((target) => ({ room, target })),
);
const labelOf = ({ room, target }: Pair, form: Form): string => `${room} → ${target} by ${form}`;

function pathTo({ room, target }: Pair): string {
  if (target in mayUse) return target;
  const path = relative(room, target);
  return path.startsWith(".") ? path : `./${path}`;
}

/** What the linter refuses in files of our code, and in files with tests. */
interface Refused {
  code: Set<string>;
  tests: Set<string>;
}

/** Writes a file for every pair, once as code and once as a test, and runs the linter over all of them. */
function lintPairs(directory: string): Refused {
  const labels = new Map<string, string>();
  for (const [index, pair] of pairs.entries())
    for (const suffix of [".ts", ".test.ts"]) {
      const file = `src/${pair.room}/pair-${index}${suffix}`;
      mkdirSync(join(directory, dirname(file)), { recursive: true });
      writeFileSync(join(directory, file), formNames.map((form) => `${forms[form](pathTo(pair))}\n`).join(""));
      for (const [line, form] of formNames.entries()) labels.set(`${file}:${line + 1}`, labelOf(pair, form));
    }
  const { stdout, stderr } = spawnSync(join(root, "node_modules/.bin/oxlint"), ["-f", "json", "."], {
    cwd: directory,
    encoding: "utf8",
    timeout: 25_000,
    maxBuffer: 64 * 1024 * 1024,
  });
  const found = JSON.parse(stdout || "{}") as {
    diagnostics?: { code: string; filename: string; labels: { span: { line: number } }[] }[];
    number_of_files?: number;
  };
  if (found.number_of_files !== 2 * pairs.length) throw new Error(`The linter did not read every file. ${stderr}`);
  const places = (found.diagnostics ?? [])
    .filter(({ code }) => code === "eslint(no-restricted-imports)")
    .map(({ filename, labels: [label] }) => `${filename}:${label?.span.line}`);
  const labelsOf = (isTest: boolean) =>
    new Set(
      places.filter((place) => place.includes(".test.ts:") === isTest).map((place) => labels.get(place) ?? place),
    );
  return { code: labelsOf(false), tests: labelsOf(true) };
}

/** True when the tables allow an import. */
function isAllowed({ room, target }: Pair, form: Form): boolean {
  const isType = form === "import type" || form === "export type";
  if (target === "@google/adk" && !isType) return mayUseValuesOfAdk.has(room);
  const users = mayUse[target];
  if (users) return users.includes(room);
  const folder = dirname(target);
  return folder === room || (mayImport[room] ?? []).some((allowed) => allowed === target || allowed === folder);
}

describe("the import rules", () => {
  let refused: Refused = { code: new Set(), tests: new Set() };

  beforeAll(() => {
    const directory = mkdtempSync(join(tmpdir(), "walls-"));
    try {
      const config = readFileSync(join(root, ".oxlintrc.json"), "utf8");
      // The files import what does not exist, so there are no types to be aware of.
      writeFileSync(join(directory, ".oxlintrc.json"), config.replace('"typeAware": true', '"typeAware": false'));
      refused = lintPairs(directory);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  /** Compares what the linter refuses of some pairs with what the tables forbid. */
  const expectAsInTables = (some: readonly Pair[]) => {
    const labels = (isRefused: (pair: Pair, form: Form) => boolean) =>
      some.flatMap((pair) => formNames.filter((form) => isRefused(pair, form)).map((form) => labelOf(pair, form)));
    const found = labels((pair, form) => refused.code.has(labelOf(pair, form)));
    expect(found).toEqual(labels((pair, form) => !isAllowed(pair, form)));
  };

  it("know every folder of src", () => {
    const entries = readdirSync(join(root, "src"), { recursive: true, withFileTypes: true });
    const folders = entries
      .filter((entry) => entry.isDirectory())
      .map(({ parentPath, name }) => relative(join(root, "src"), join(parentPath, name)));
    expect(rooms.toSorted()).toEqual(folders.toSorted());
  });

  it.each(rooms)("let %s import what the table allows, and nothing else of ours", (room) => {
    expectAsInTables(pairs.filter((pair) => pair.room === room && !(pair.target in mayUse)));
  });

  it.each(Object.keys(mayUse))("let only the folders of the table import %s", (name) => {
    expectAsInTables(pairs.filter(({ target }) => target === name));
  });

  it("do not apply to tests", () => {
    expect([...refused.tests]).toEqual([]);
  });
});
