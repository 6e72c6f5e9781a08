import { call, code, codeResult, text, type Ask, type GeminiRequest, type Piece, type Rule } from "../testing/index.ts";
import type { AgentOutline } from "../agent/index.ts";
import { makeArguments, makeJson } from "./make-arguments.ts";
import { scriptWords } from "./script-words.ts";

/**
 * The script of the model that stands in for Gemini if there is no key. It knows no particular agent: it calls the tools
 * that the user names, with arguments made from their schemas, hands over to the agents that have them, and says what came.
 */
export function scriptRules(outline: () => AgentOutline | undefined): readonly Rule[] {
  return [{ say: (ask) => respond(ask as GeminiRequest, outline()) }];
}

/** How many tools one message may call, and how many calls may follow one message. */
const maxCalls = 5;
const shownLength = 600;

interface Declaration {
  name: string;
  schema: unknown;
}

function respond(ask: GeminiRequest, outline: AgentOutline | undefined): Piece[] {
  const words = scriptWords(ask.text);
  const declared = readDeclarations(ask);
  const said = describe(ask);
  const made = callsSince(ask);
  const next = made.length < maxCalls ? nextCalls(ask, declared, made, outline) : [];
  if (next.length > 0) return [...said, ...next.map(({ name, args }) => call(name, args))];
  const final = declared.find(({ name }) => name === finalResponse);
  if (final && !made.includes(finalResponse)) return [...said, call(finalResponse, makeArguments(final.schema))];
  const schema = final ? undefined : outputSchema(ask, outline);
  if (schema !== undefined) return [text(JSON.stringify(makeJson(schema)))];
  const leave = declared.map(({ name }) => name).find((name) => ends.test(name) && !made.includes(name));
  const leaving = leave === undefined ? [] : [call(leave, {})];
  if (said.length > 0 && !ask.fresh) return [...said, ...(leave === taskCompleted ? leaving : [])];
  if (/\b(?:run|write|execute)\b.*\bcode\b|\bcalculate\b|コード|計算/iu.test(ask.text))
    return [...said, ...runCode(ask)];
  const tools = declared.map(({ name }) => name).filter((name) => !ofAdk.has(name));
  const greeting = text(words.hello({ tools, agents: reachable(ask) }));
  return [...said, greeting, ...leaving];
}

const transfer = "transfer_to_agent";
/** ADK declares it for an agent with an output schema whose model cannot have both a schema and tools. */
const finalResponse = "set_model_response";
/** ADK declares it for an agent of a sequence in live mode. The next agent begins when it is called. */
const taskCompleted = "task_completed";
/** An agent of a loop or a sequence says with it that it is done. */
const ends = /^(?:exit_?loop|task_completed)$/i;
const ofAdk: ReadonlySet<string> = new Set([transfer, finalResponse, taskCompleted]);

/** The calls that the user's last message asks for and that the model has not made since. */
function nextCalls(
  ask: Ask,
  declared: readonly Declaration[],
  made: readonly string[],
  outline: AgentOutline | undefined,
): { name: string; args: Record<string, unknown> }[] {
  const given = readGiven(ask.text);
  const named = declared
    .filter(({ name }) => name !== transfer && placeOf(name, ask.text) !== undefined && !made.includes(name))
    .toSorted((a, b) => (placeOf(a.name, ask.text) ?? 0) - (placeOf(b.name, ask.text) ?? 0))
    // “delete file” names delete_file, and not a tool `delete` as well.
    .filter(({ name }, _, all) => !all.some((other) => other.name !== name && other.name.includes(name)));
  if (named.length > 0)
    return named
      .slice(0, maxCalls)
      .map(({ name, schema }) => ({ name, args: { ...makeArguments(schema), ...(named.length === 1 && given) } }));
  const handOver = declared.find(({ name }) => name === transfer);
  const isDone = declared.some(({ name }) => made.includes(name) && name !== transfer);
  const target = handOver && !isDone ? findTarget(ask, outline) : undefined;
  if (handOver === undefined || target === undefined) return [];
  const [field = "agentName"] = Object.keys(makeArguments(handOver.schema));
  return [{ name: transfer, args: { [field]: target } }];
}

/** The agent to hand over to: one that the user names, or one that leads to a tool that the user names. */
function findTarget(ask: Ask, outline: AgentOutline | undefined): string | undefined {
  const isNamed = (name: string) => placeOf(name, ask.text) !== undefined;
  const own = ownName(ask);
  // The agent that the user asked for has the conversation already.
  if (own !== undefined && isNamed(own)) return undefined;
  const near = reachable(ask);
  const all = outline ? flatten(outline) : [];
  const find = (fits: (agent: AgentOutline) => boolean) =>
    near.find((name) => all.some((agent) => agent.name === name && fits(agent)));
  const leads = ({ name, tools, agents }: AgentOutline): boolean =>
    isNamed(name) || tools.some(isNamed) || agents.some(leads);
  return near.find(isNamed) ?? find(({ tools }) => tools.some(isNamed)) ?? find(leads);
}

/** The name of the agent whose request this is. */
function ownName({ system }: Ask): string | undefined {
  return /internal name is "([^"]+)"/.exec(system)?.[1];
}

function flatten(outline: AgentOutline): AgentOutline[] {
  return [outline, ...outline.agents.flatMap(flatten)];
}

/** The agents that ADK's instruction offers for a hand-over. */
function reachable({ system }: Ask): string[] {
  return [...system.matchAll(/^Agent name: (.+)$/gm)].map(([, name = ""]) => name.trim());
}

/** Where a text names a tool or an agent: as it is written, or with spaces. Names of other letters may follow directly. */
function placeOf(name: string, said: string): number | undefined {
  if (name === "") return undefined;
  const pattern = name
    .split(/[_\-\s]+/)
    .map((word) => word.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`))
    .join(String.raw`[_\-\s]+`);
  const found = new RegExp(`(?<![A-Za-z0-9_])${pattern}(?![A-Za-z0-9_])`, "iu").exec(said);
  return found?.index;
}

/** Arguments that the user wrote as JSON, as in `call pay {"amount": 5}`. They take precedence over made ones. */
function readGiven(said: string): Record<string, unknown> | undefined {
  const json = said.slice(said.indexOf("{"), said.lastIndexOf("}") + 1);
  if (!json.startsWith("{") || json.length > 100_000) return undefined;
  try {
    return JSON.parse(json) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

/** A call that is repeated as text: by ADK one of another agent, by the bridge one of an earlier live connection. */
const retoldCall = /called tool `([^`]+)`|^\[called ([^(]+)\(/;

/** The names of the calls since the user's last message. */
function callsSince({ contents, text: said }: Ask): string[] {
  const last = contents.findLastIndex(
    ({ role, parts }) => role !== "model" && parts?.some((part) => part.text !== undefined && said.includes(part.text)),
  );
  return contents
    .slice(last + 1)
    .flatMap(({ parts }) => parts ?? [])
    .flatMap(({ functionCall, text: told }) => {
      if (functionCall?.name !== undefined) return functionCall.name;
      const retold = retoldCall.exec(told ?? "");
      return retold?.[1] ?? retold?.[2] ?? [];
    });
}

/** What came since the model's last response: results of tools, and notes of the bridge about calls that ended late. */
function describe({ responses, contents, text: said }: Ask): Piece[] {
  const words = scriptWords(said);
  const results = responses
    .filter(({ name }) => name !== transfer)
    .map(({ name, response }) => words.returned(name, shorten(JSON.stringify(response))));
  const lastModel = contents.findLastIndex(({ role }) => role === "model");
  const notes = contents
    .slice(lastModel + 1)
    .flatMap(({ parts }) => parts ?? [])
    .flatMap(({ text: note }) => (note?.startsWith("[context, not from the user]") ? [note] : []))
    .map((note) => words.noted(shorten(note.replace(/^\[context, not from the user\]\s*/, ""))));
  const sentences = [...results, ...notes];
  return sentences.length === 0 ? [] : [text(`${sentences.join("\n\n")}\n\n`)];
}

function shorten(said: string): string {
  return said.length > shownLength ? `${said.slice(0, shownLength)}…` : said;
}

/** Gemini's own code execution if the agent has it, otherwise a block of code, which ADK's other executors run. */
function runCode({ body, contents }: GeminiRequest): Piece[] {
  const source = "print(6 * 7)";
  const tools = Array.isArray(body["tools"]) ? (body["tools"] as Record<string, unknown>[]) : [];
  if (tools.some((tool) => "codeExecution" in tool || "code_execution" in tool))
    return [code(source), codeResult("42\n"), text("The code printed 42.")];
  const isRun = JSON.stringify(contents.at(-1) ?? "").includes("```tool_output") || contents.at(-1)?.role === "model";
  return [text(isRun ? "The code ran." : `\`\`\`python\n${source}\n\`\`\``)];
}

function readDeclarations({ body }: GeminiRequest): Declaration[] {
  const tools = Array.isArray(body["tools"]) ? (body["tools"] as Record<string, unknown>[]) : [];
  return tools
    .flatMap(({ functionDeclarations: list }) => (Array.isArray(list) ? (list as Record<string, unknown>[]) : []))
    .map(({ name, parameters, parametersJsonSchema }) => ({
      name: String(name),
      schema: parametersJsonSchema ?? parameters,
    }));
}

/**
 * The schema that the response must have, if the agent has one. ADK does not tell it to Gemini Live, where the agent's
 * instruction has to ask for it. An agent with a schema does not hand over, and if it has no agents below it, ADK does not
 * tell the model its name.
 */
function outputSchema(ask: GeminiRequest, outline: AgentOutline | undefined): unknown {
  const config = (ask.body["generationConfig"] ?? {}) as Record<string, unknown>;
  const own = ownName(ask);
  const isOwn = ({ name, agents }: AgentOutline) => (own === undefined ? agents.length === 0 : name === own);
  const agent = (outline ? flatten(outline) : []).find((each) => each.outputSchema !== undefined && isOwn(each));
  return config["responseJsonSchema"] ?? config["responseSchema"] ?? agent?.outputSchema;
}
