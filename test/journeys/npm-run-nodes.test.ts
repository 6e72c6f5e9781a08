/** `npm run nodes` as a person uses it: in a terminal, with its keys, while someone chats. */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { UIMessage, UIMessageChunk } from "ai";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { openTerminal, type Terminal } from "../fixtures/terminal.ts";

const root = join(import.meta.dirname, "../..");
/** Long, because the machine may be busy. */
const patient = { timeout: 60_000 };
const starting = 90_000;

let folder: string;
beforeAll(() => {
  // The database runs as another user if this one is root.
  folder = mkdtempSync(join(tmpdir(), "npm-run-nodes-"));
  chmodSync(folder, 0o755);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const open = new Set<Terminal>();
afterEach(async () => {
  for (const { child, ended } of open) {
    child.kill("SIGKILL");
    await ended;
  }
  open.clear();
});

/** What a person types, without the installation before it: the tests run from what it installs. */
function run(port: number, count: number): Terminal {
  const env = {
    ...{ PORT: String(port), NODES: String(count), LEASE_MS: "1000", WORD_MS: "120", TMPDIR: folder },
    ...{ GOOGLE_API_KEY: "", GOOGLE_GEMINI_BASE_URL: "", DATABASE_URL: "", NODE_OPTIONS: "" },
    PATH: `${join(root, "node_modules/.bin")}:${process.env["PATH"]}`,
  };
  const terminal = openTerminal("npm run --silent --ignore-scripts nodes", { cwd: root, env });
  open.add(terminal);
  return terminal;
}

interface Row {
  chosen: boolean;
  state: string;
  chats: string;
}

/** The table on the screen. */
function rowsOf(terminal: Terminal): Row[] {
  return terminal.screen().flatMap((line) => {
    const found = /^(>?) +\d +\d+ +(\S.*?) {2,}(\S+) +\d+ +\d+$/.exec(line);
    return found ? [{ chosen: found[1] === ">", state: found[2] ?? "", chats: found[3] ?? "" }] : [];
  });
}
const statesOf = (terminal: Terminal) => rowsOf(terminal).map(({ state }) => state);
const allReady = (count: number) => Array.from({ length: count }, () => "ready");

/** So many ports in a row that are free. */
async function freePorts(count: number): Promise<number> {
  for (;;) {
    const first = 20_000 + Math.floor(Math.random() * 10_000);
    const free = await Promise.all(Array.from({ length: count }, (_, index) => isFree(first + index)));
    if (free.every(Boolean)) return first;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
      .once("error", () => resolve(false))
      .listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
  });
}

/** The process of the script itself, somewhere below the terminal. */
function mainOf({ child }: Terminal): number {
  const processes = execFileSync("ps", ["-axo", "pid=,ppid=,command="], { encoding: "utf8" })
    .split("\n")
    .flatMap((line) => {
      const [, pid, parent, command = ""] = /^ *(\d+) +(\d+) (.*)$/.exec(line) ?? [];
      return [{ pid: Number(pid), parent: Number(parent), command }];
    });
  const below = new Set([child.pid]);
  for (const { pid, parent } of processes.toSorted((one, other) => one.pid - other.pid))
    if (below.has(parent)) below.add(pid);
  const found = processes.find(
    ({ pid, command }) => below.has(pid) && /^\S*node scripts\/nodes\/main\.ts/.test(command),
  );
  if (!found) throw new Error("The script does not run.");
  return found.pid;
}

/** The command lines of processes that use the folder for temporary files: the database, and the shells that watch it. */
function leftovers(): string[] {
  const commands = execFileSync("ps", ["-axo", "command="], { encoding: "utf8" }).split("\n");
  return commands.filter((command) => command.includes(folder));
}
const dataFolders = () => readdirSync(folder).filter((name) => name.startsWith("postgres-"));

async function expectNothingLeft(port: number, count: number): Promise<void> {
  await expect.poll(leftovers, patient).toEqual([]);
  expect(dataFolders()).toEqual([]);
  for (let each = port; each <= port + count; each += 1) await expect.poll(() => isFree(each), patient).toBe(true);
}

/** Reads a stream to its end, or to where it is cut off. */
async function read(response: Response, onWords: (words: string) => void = () => undefined) {
  let body = "";
  let words = "";
  const decoder = new TextDecoder();
  try {
    for await (const piece of response.body ?? []) {
      body += decoder.decode(piece, { stream: true });
      const data = [...body.matchAll(/^data: (\{.*\})$/gm)].map(([, json = ""]) => JSON.parse(json) as UIMessageChunk);
      words = data.map((chunk) => (chunk.type === "text-delta" ? chunk.delta : "")).join("");
      onWords(words);
    }
  } catch {
    // The connection was cut, and the body says so: it has no [DONE].
  }
  const approvalId = /"approvalId":"(apr_\w+)"/.exec(body)?.[1];
  return { words, isWhole: body.includes("data: [DONE]"), approvalId };
}

describe("npm run nodes", () => {
  it(
    "shows the nodes, takes its keys while someone chats, and leaves nothing behind",
    { timeout: 240_000 },
    async () => {
      const port = await freePorts(4);
      const url = `http://127.0.0.1:${port}`;
      const terminal = run(port, 3);
      const press = (keys: string) => terminal.press(keys);
      const states = () => statesOf(terminal);
      await expect.poll(() => terminal.output(), { timeout: starting }).toContain(`Chat at ${url} (the balancer)`);
      await expect.poll(states, patient).toEqual(allReady(3));
      expect(terminal.screen().join("\n")).toMatch(/Database: postgres:\/\/.* \(private, removed in the end\)/);

      const ask = (chat: string, words: string) =>
        fetch(`${url}/stream`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({
            id: chat,
            messages: [{ id: `u-${chat}`, role: "user", parts: [{ type: "text", text: words }] }],
          }),
        });
      const said = async (chat: string) => {
        const { messages } = (await (await fetch(`${url}/stream/${chat}/messages`)).json()) as {
          messages: UIMessage[];
        };
        return messages
          .at(-1)
          ?.parts.flatMap((part) => (part.type === "text" ? part.text : []))
          .join("");
      };

      // A node is killed in the middle of a sentence, and the sentence goes on.
      let begun = () => {};
      const inTheMiddle = new Promise<void>((resolve) => (begun = resolve));
      const reading = read(await ask("story", "help"), (words) => words.split(" ").length > 4 && begun());
      await inTheMiddle;
      const holder = () => rowsOf(terminal).findIndex(({ chats }) => chats === "1");
      await expect.poll(holder, patient).not.toBe(-1);
      const dying = holder();
      press(String(dying + 1));
      await expect.poll(() => rowsOf(terminal)[dying], patient).toMatchObject({ chosen: true, state: "ready" });
      press("k");
      await expect.poll(() => rowsOf(terminal)[dying]?.state, patient).toBe("ended");
      const cut = await reading;
      expect(cut.isWhole).toBe(false);
      let whole = cut;
      await expect
        .poll(async () => (whole = await read(await fetch(`${url}/stream/story/stream`))).isWhole, patient)
        .toBe(true);
      expect(whole.words.startsWith(cut.words)).toBe(true);
      expect(await said("story")).toBe(whole.words);
      expect(whole.words).toMatch(/^I can send money .* before you approve it\.$/);
      expect(whole.words.split("Nothing is paid")).toHaveLength(2);

      press("s");
      await expect.poll(states, patient).toEqual(allReady(3));
      for (const [key, state] of [
        ["p", "paused"],
        ["p", "ready"],
        ["d", "ended"],
        ["s", "ready"],
      ] as const) {
        press(key);
        await expect.poll(() => rowsOf(terminal)[dying]?.state, patient).toBe(state);
      }

      // The database is restarted, and then away for a while, while a question waits.
      const { approvalId } = await read(await ask("pay", "Send 50 dollars to Hanako"));
      press("R");
      await expect.poll(() => terminal.screen(), patient).toContain("PostgreSQL: restarting");
      await expect.poll(() => terminal.screen(), patient).toContain("PostgreSQL: running");
      press("K");
      await expect.poll(() => terminal.screen(), patient).toContain("PostgreSQL: stopped");
      await expect.poll(states, patient).toEqual(["not ready", "not ready", "not ready"]);
      expect((await fetch(`${url}/ready`)).status).toBe(503);
      press("K");
      await expect.poll(() => terminal.screen(), patient).toContain("PostgreSQL: running");
      await expect.poll(states, patient).toEqual(allReady(3));
      const yes = () =>
        fetch(`${url}/approvals/${approvalId}`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ approved: true }),
        });
      await expect.poll(async () => (await yes()).status, patient).toBe(200);
      await expect.poll(() => said("pay"), patient).toMatch(/Hanako/);

      // Another one at the same ports says so, and changes nothing.
      const second = run(port, 3);
      expect(await second.ended).toBe(1);
      expect(second.output()).toContain(`Port ${port} is taken, perhaps by another npm run nodes.`);
      expect(dataFolders()).toHaveLength(1);
      expect(states()).toEqual(allReady(3));

      press("q");
      expect(await terminal.ended).toBe(0);
      await expectNothingLeft(port, 3);
    },
  );

  it("leaves nothing behind if it is killed with -9, also while it starts", { timeout: 240_000 }, async () => {
    const port = await freePorts(2);
    for (const isReached of [
      () => dataFolders().some((name) => readdirSync(join(folder, name)).includes("data")),
      () => leftovers().some((command) => command.includes("postgres -D")),
      (running: Terminal) => running.output().includes("Chat at"),
    ]) {
      const running = run(port, 1);
      await expect.poll(() => isReached(running), { timeout: starting, interval: 5 }).toBe(true);
      process.kill(mainOf(running), "SIGKILL");
      await running.ended;
      await expectNothingLeft(port, 1);
    }
  });
});
