import { expect, test } from "vitest";
import { readArguments } from "./read-arguments.ts";

const dev = { name: "dev", file: "./agent.ts", port: undefined, host: undefined, open: true, data: undefined };

test.each<[string, object]>([
  ["dev ./agent.ts", { ...dev, ask: "toolsets" }],
  ["dev ./agent.ts --port 0 --no-open --data d --ask all", { ...dev, port: 0, open: false, data: "d", ask: "all" }],
  ["dev --port=8080 ./agent.ts", { ...dev, port: 8080, ask: "toolsets" }],
  ["dev ./agent.ts --host", { ...dev, host: "0.0.0.0", ask: "toolsets" }],
  ["dev --host ./agent.ts", { ...dev, host: "0.0.0.0", ask: "toolsets" }],
  ["dev --host 127.0.0.1 ./agent.ts", { ...dev, host: "127.0.0.1", ask: "toolsets" }],
  ["dev --host ::1 ./agent.ts", { ...dev, host: "::1", ask: "toolsets" }],
  ["serve ./agent.ts --ask declared", { ...dev, name: "serve", open: false, ask: "declared" }],
  ["init my-app", { name: "init", folder: "my-app" }],
  ["", { name: "help" }],
  ["dev --help", { name: "help" }],
  ["--version", { name: "version" }],
])("%s", (line, expected) => {
  expect(readArguments(line.split(" ").filter(Boolean))).toEqual(expected);
});

test.each([
  ["dev", "dev needs one file with an agent: adk-stream-protocol dev ./agent.ts."],
  ["dev a.ts b.ts", "dev needs one file"],
  ["dve a.ts", 'There is no command "dve". The commands are dev, serve and init; see --help.'],
  ["dev a.ts --port x", '--port must be a whole number from 0 to 65535; it is "x".'],
  ["dev a.ts --port 70000", '--port must be a whole number from 0 to 65535; it is "70000".'],
  ["dev a.ts --ask never", '--ask must be declared, toolsets, all; it is "never".'],
  ["dev a.ts --prot 1", "Unknown option '--prot'. See adk-stream-protocol --help."],
  ["init", "init needs one folder: adk-stream-protocol init my-app."],
])("%s is refused", (line, sentence) => {
  expect(() => readArguments(line.split(" "))).toThrow(sentence);
});
