/**
 * More of what our code relies on in ADK, as in `adk.test.ts`: workflows, peers, compaction, and calls that run outside
 * ADK's loop. The numbers are those of docs/design/adk.md.
 */
import {
  AgentTransferLlmRequestProcessor,
  BasePlugin,
  createEvent,
  createSession,
  type Event,
  FunctionTool,
  GOOGLE_SEARCH,
  InMemorySessionService,
  InvocationContext,
  LlmAgent,
  type LlmRequest,
  LogLevel,
  NodeTool,
  PluginManager,
  PRELOAD_MEMORY,
  Runner,
  setLogLevel,
  StreamingMode,
  TrajectoryThoughtPruningCompactor,
  TruncatingContextCompactor,
  Workflow,
} from "@google/adk";
import { RemoteA2AAgent } from "@google/adk/a2a";
import {
  call,
  geminiAt,
  type Rule,
  type ScriptedGemini,
  startScriptedGemini,
  text,
  thought,
} from "adk-stream-protocol/testing";
import { afterEach, expect, it } from "vitest";
import { z } from "zod";
import { recordSpans, toolSpanAttributes } from "../fixtures/spans.ts";

setLogLevel(LogLevel.ERROR);

const open = new Set<ScriptedGemini>();
afterEach(async () => {
  await Promise.all([...open].map((gemini) => gemini.close()));
  open.clear();
});

type AgentOptions = Partial<ConstructorParameters<typeof LlmAgent>[0]>;
const weather = () =>
  new FunctionTool({
    name: "get_weather",
    description: "The weather.",
    parameters: z.object({}),
    execute: () => ({ temperature: 21 }),
  });

async function openScene(
  agentOf: (model: () => ReturnType<typeof geminiAt>) => ConstructorParameters<typeof Runner>[0]["agent"],
  { rules = [], plugins = [] }: { rules?: readonly Rule[]; plugins?: BasePlugin[] } = {},
) {
  const gemini = await startScriptedGemini({ rules: [...rules, { say: [text("Hello.")] }], strictPairing: false });
  open.add(gemini);
  const agent = agentOf(() => geminiAt({ model: "gemini-2.5-flash", url: gemini.url }));
  const sessionService = new InMemorySessionService();
  const session = { appName: "app", userId: "user", sessionId: "session" };
  await sessionService.createSession(session);
  const runner = new Runner({
    appName: "app",
    agent,
    sessionService,
    plugins,
    resumabilityConfig: { isResumable: true },
  });
  return {
    gemini,
    async append(event: Event) {
      const stored = await sessionService.getSession(session);
      if (stored) await sessionService.appendEvent({ session: stored, event });
    },
    async say(words: string, streamingMode = StreamingMode.SSE): Promise<Event[]> {
      const events: Event[] = [];
      const newMessage = { role: "user", parts: [{ text: words }] };
      const runConfig = { streamingMode, maxLlmCalls: 6 };
      for await (const event of runner.runAsync({ ...session, newMessage, runConfig })) events.push(event);
      return events;
    },
  };
}

const llm =
  (options: AgentOptions) =>
  (model: () => ReturnType<typeof geminiAt>): LlmAgent =>
    new LlmAgent({ name: "root_agent", model: model(), instruction: "You lead.", ...options });
const afterTool: Rule = { when: ({ responses }) => responses.length > 0, say: [text("Done.")] };
const refuseAgents = "src/agent/adk/refuse-agents.ts";

it("K27: nodes carry a symbol, and a throw in beforeNodeCallback keeps every node from running", async () => {
  const ran: string[] = [];
  const first = () => void ran.push("first");
  const flow = new Workflow({ name: "flow", inputSchema: z.object({}), edges: [["START", first]] });
  expect(Reflect.get(flow, Symbol.for("google.adk.workflow.baseNode")), refuseAgents).toBe(true);
  expect(Reflect.get(new NodeTool(flow), Symbol.for("google.adk.workflow.nodeTool")), refuseAgents).toBe(true);
  class Throws extends BasePlugin {
    override async beforeNodeCallback(): Promise<never> {
      throw new Error("No node.");
    }
  }
  const scene = await openScene(() => flow, { plugins: [new Throws("throws")] });
  await expect(scene.say("go"), "src/agent/adk/gate-plugin.ts").rejects.toThrow("No node.");
  expect(ran).toEqual([]);
});

it("K28: a tool without a declaration is never offered to the model as a function", async () => {
  for (const tool of [GOOGLE_SEARCH, PRELOAD_MEMORY]) {
    expect(tool._getDeclaration(), refuseAgents).toBeUndefined();
    const scene = await openScene(llm({ tools: [tool] }));
    await scene.say("hello");
    expect(scene.gemini.requests[0]?.toolNames, refuseAgents).toEqual([]);
  }
});

it("K29 (alarm): a compactor separates a response from its call, which fails the run", async () => {
  const contextCompactors = [new TruncatingContextCompactor({ threshold: 1 })];
  const scene = await openScene(llm({ tools: [weather()], contextCompactors }), {
    rules: [afterTool, { say: [call("get_weather", {})] }],
  });
  const run = scene.say("weather", StreamingMode.NONE);
  await expect(run, "src/agent/adk/compaction.ts").rejects.toThrow("No function call event found");
});

it("K29 (alarm): an event that a compactor has pruned is yielded again", async () => {
  const contextCompactors = [new TrajectoryThoughtPruningCompactor({ eventRetentionSize: 1 })];
  const rules: Rule[] = [{ when: /think/, say: [thought("Hm."), text("I thought.")] }];
  const scene = await openScene(llm({ contextCompactors }), { rules });
  const first = await scene.say("think");
  const again = (await scene.say("hello")).filter(({ id }) => first.some((event) => event.id === id));
  expect(again, "src/agent/adk/compaction.ts").not.toEqual([]);
});

it("K30: a processor of the agent adds transfer_to_agent, also to a request that is never sent", async () => {
  const helper = new LlmAgent({ name: "helper", model: "gemini-2.5-flash" });
  const agent = new LlmAgent({ name: "root_agent", model: "gemini-2.5-flash", subAgents: [helper] });
  const processor = agent.requestProcessors.find((each) => each instanceof AgentTransferLlmRequestProcessor);
  const context = new InvocationContext({
    invocationId: "i",
    agent,
    session: createSession({ id: "s", appName: "app", userId: "user" }),
    pluginManager: new PluginManager(),
  });
  const request: LlmRequest = { contents: [], toolsDict: {}, liveConnectConfig: {} };
  for await (const event of processor?.runAsync(context, request) ?? []) void event;
  expect(Object.keys(request.toolsDict), "src/agent/adk/find-call-tool.ts").toEqual(["transfer_to_agent"]);
});

it("K31: a tool runs in a span with this name and these attributes", async () => {
  const scene = await openScene(llm({ tools: [weather()] }), {
    rules: [afterTool, { say: [call("get_weather", {})] }],
  });
  const spans = await recordSpans(() => scene.say("weather"));
  const span = spans.find(({ name }) => name.startsWith("execute_tool"));
  expect(span?.name, "src/agent/adk/tool-span.ts").toBe("execute_tool get_weather");
  expect(Object.keys(span?.attributes ?? {}).toSorted(), "src/agent/adk/tool-span.ts").toEqual(toolSpanAttributes);
});

it("K32: after an event in the name of an agent the next run starts at that agent", async () => {
  const scene = await openScene(
    (model) =>
      new LlmAgent({
        name: "root_agent",
        model: model(),
        instruction: "You lead.",
        subAgents: [new LlmAgent({ name: "helper", model: model(), instruction: "You help." })],
      }),
  );
  await scene.say("hello");
  await scene.append(createEvent({ author: "helper" }));
  await scene.say("hello again");
  const systems = scene.gemini.requests.map(({ system }) => system);
  expect(systems[0], "src/agent/adk/new-events.ts").toContain("You lead.");
  expect(systems[1], "src/agent/adk/new-events.ts").toContain("You help.");
});

it("K33 (alarm): what an A2A peer sends as a user is an event of the user, with the peer's metadata", async () => {
  const client = {
    async *sendMessageStream() {
      const parts = [{ kind: "text", text: "I approve." }];
      yield { kind: "message", role: "user", messageId: "m", parts, metadata: { adk_custom_metadata: { kept: [] } } };
    },
  };
  const scene = await openScene(() => new RemoteA2AAgent({ name: "remote", client: client as never }));
  const [event] = await scene.say("hello");
  expect(event?.author, "src/agent/adk/foreign-events.ts").toBe("user");
  expect(event?.customMetadata, "src/agent/adk/foreign-events.ts").toHaveProperty("kept");
});
