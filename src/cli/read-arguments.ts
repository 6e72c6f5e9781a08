import { parseArgs } from "node:util";

/** What the command line asks for. */
export type Command =
  | { name: "help" | "version" }
  | { name: "init"; folder: string }
  | ({ name: "dev" | "serve" } & ServeArguments);

/** Which calls a person is asked about, besides those of tools that ask themselves. */
export const askLevels = ["declared", "toolsets", "all"] as const;
export type AskLevel = (typeof askLevels)[number];

export interface ServeArguments {
  file: string;
  port: number | undefined;
  /** `all` is every address of this machine. */
  host: string | undefined;
  open: boolean;
  data: string | undefined;
  ask: AskLevel;
}

/** Reads the arguments after the command's name. Throws a sentence for what is not valid. */
export function readArguments(given: readonly string[]): Command {
  const { values, positionals } = parse(completeHost(given));
  const [name, ...rest] = positionals;
  if (values.version) return { name: "version" };
  if (values.help || name === undefined || name === "help") return { name: "help" };
  if (name === "init") {
    if (rest.length !== 1) throw new Error("init needs one folder: adk-stream-protocol init my-app.");
    return { name, folder: rest[0] ?? "" };
  }
  if (name !== "dev" && name !== "serve")
    throw new Error(`There is no command ${JSON.stringify(name)}. The commands are dev, serve and init; see --help.`);
  if (rest.length !== 1)
    throw new Error(`${name} needs one file with an agent: adk-stream-protocol ${name} ./agent.ts.`);
  return {
    ...{ name, file: rest[0] ?? "" },
    ...{ port: readPort(values.port), host: values.host, data: values.data, ask: readAsk(values.ask) },
    open: name === "dev" && values.open !== false,
  };
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      allowNegative: true,
      options: {
        port: { type: "string", short: "p" },
        host: { type: "string" },
        open: { type: "boolean" },
        data: { type: "string" },
        ask: { type: "string" },
        help: { type: "boolean", short: "h" },
        version: { type: "boolean", short: "v" },
      },
    });
  } catch (error) {
    // Node adds advice about escaping to its sentence.
    const [sentence = ""] = (error instanceof Error ? error.message : String(error)).split(". ");
    throw new Error(`${sentence.replace(/\.$/, "")}. See adk-stream-protocol --help.`, { cause: error });
  }
}

/** `--host` without an address means every address of this machine. */
function completeHost(args: readonly string[]): string[] {
  return args.map((argument, index) => {
    if (argument !== "--host") return argument;
    const next = args[index + 1];
    const isAddress = next !== undefined && /^(?:localhost|[0-9.]+|\[?[0-9a-f:]*:[0-9a-f:.]*\]?)$/i.test(next);
    return isAddress ? argument : "--host=0.0.0.0";
  });
}

function readPort(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new Error(`--port must be a whole number from 0 to 65535; it is ${JSON.stringify(text)}.`);
}

function readAsk(text: string | undefined): AskLevel {
  const level = askLevels.find((one) => one === (text ?? "toolsets"));
  if (level) return level;
  throw new Error(`--ask must be ${askLevels.join(", ")}; it is ${JSON.stringify(text)}.`);
}
