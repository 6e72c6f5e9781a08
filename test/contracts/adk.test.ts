/**
 * What our code relies on in ADK, one test each, with real ADK and the scripted Gemini and none of our own code. Some of it
 * is documented, some is only how ADK happens to work. When a new release breaks one of these, the message says which of
 * our code depends on it. A test whose title says "alarm" watches a defect: when it fails, ADK has fixed the defect and
 * our workaround can go. The numbers are those of docs/design/adk.md.
 */
import {
  AgentTool,
  type BaseAgent,
  BasePlugin,
  type BaseTool,
  BaseToolset,
  Context,
  createEvent,
  type Event,
  FunctionTool,
  Gemini,
  getFunctionCalls,
  getFunctionResponses,
  InMemorySessionService,
  InvocationContext,
  isLlmAgent,
  LiveRequestQueue,
  LlmAgent,
  type LlmResponse,
  LogLevel,
  LongRunningFunctionTool,
  ReadonlyContext,
  Runner,
  setLogLevel,
  StreamingMode,
  ToolConfirmation,
} from "@google/adk";
import { type Content, Modality, type Part } from "@google/genai";
import {
  call,
  geminiAt,
  pause,
  type Piece,
  type Rule,
  type ScriptedGemini,
  startScriptedGemini,
  text,
} from "adk-stream-protocol/testing";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";

setLogLevel(LogLevel.ERROR);

const gate = "src/agent/adk/gate-plugin.ts";
const gatheredCalls = "src/agent/adk/gathered-calls.ts";
const toolCalls = "src/agent/adk/tool-calls.ts";
const requestRun = "src/agent/adk/request-run.ts";
const runners = "src/agent/adk/runners.ts";
const liveRun = "src/agent/adk/live/live-run.ts";
const history = "src/agent/adk/history.ts";
const plan = "src/agent/conversation/plan.ts";
const requestSession = "src/agent/conversation/request-session.ts";
const liveConnection = "src/agent/conversation/live-connection.ts";

const open = new Set<ScriptedGemini>();
afterEach(async () => {
  await Promise.all([...open].map((gemini) => gemini.close()));
  open.clear();
});

type Hooks = Partial<Pick<BasePlugin, `${string}Callback` & keyof BasePlugin>>;

interface Scene {
  hooks?: Hooks;
  /** What the model says to each text of the user. After tool results it says "Done.". */
  says?: Record<string, readonly Piece[]>;
  tools?: readonly BaseTool[];
  /** Sub-agents of the root agent, or tools that run an agent. */
  below?: (model: () => Gemini) => { subAgents?: BaseAgent[]; tools?: BaseTool[] };
  root?: Partial<ConstructorParameters<typeof LlmAgent>[0]>;
  isResumable?: boolean;
  model?: string;
}

/** An agent that can pay, a plugin with the given hooks, and a model that follows the script. */
async function openScene({
  hooks = {},
  says = {},
  tools = [],
  below,
  root,
  isResumable = true,
  model: modelName = "gemini-2.5-flash",
}: Scene = {}) {
  const rules: Rule[] = [
    { when: ({ responses }) => responses.length > 0, say: [text("Done.")] },
    { when: ({ toolNames }) => toolNames.includes("helper_pay"), say: [call("helper_pay", { amount: 7 })] },
    ...Object.entries({ ...words, ...says }).map(([said, say]) => ({ when: new RegExp(`^${said}$`), say })),
    { say: [text("Hello.")] },
  ];
  const gemini = await startScriptedGemini({ rules, strictPairing: false });
  open.add(gemini);
  const model = () => geminiAt({ model: modelName, url: gemini.url });
  const payments: unknown[] = [];
  const { subAgents = [], tools: more = [] } = below?.(model) ?? {};
  const agent = new LlmAgent({
    name: "root_agent",
    model: model(),
    tools: [paymentTool(payments), weatherTool(), ...tools, ...more],
    subAgents,
    ...root,
  });
  class Hooked extends BasePlugin {}
  const plugin = Object.assign(new Hooked("hooks"), hooks);
  const sessionService = new InMemorySessionService();
  const session = { appName: "app", userId: "user", sessionId: "session" };
  await sessionService.createSession(session);
  const runner = new Runner({
    appName: "app",
    agent,
    sessionService,
    plugins: [plugin],
    resumabilityConfig: { isResumable },
  });
  return {
    agent,
    gemini,
    payments,
    runner,
    sessionService,
    session,
    async load() {
      return (await sessionService.getSession(session))!;
    },
    async events(): Promise<Event[]> {
      return (await sessionService.getSession(session))!.events;
    },
    async run(newMessage: Content, streamingMode = StreamingMode.SSE): Promise<Event[]> {
      const events: Event[] = [];
      const { userId, sessionId } = session;
      const run = runner.runAsync({ userId, sessionId, newMessage, runConfig: { streamingMode, maxLlmCalls: 6 } });
      for await (const event of run) events.push(event);
      return events;
    },
    /** Says one thing live, listens until `isEnd` is true, then closes the connection. */
    async runLive(said: string, isEnd: (event: Event) => boolean): Promise<Event[]> {
      const events: Event[] = [];
      const liveRequestQueue = new LiveRequestQueue();
      const { userId, sessionId } = session;
      const runConfig = { responseModalities: [Modality.TEXT] };
      const run = runner.runLive({ userId, sessionId, liveRequestQueue, runConfig });
      liveRequestQueue.sendContent(user(said));
      for await (const event of run) {
        events.push(event);
        if (isEnd(event)) liveRequestQueue.close();
      }
      return events;
    },
  };
}

const words: Record<string, readonly Piece[]> = {
  pay: [call("process_payment", { amount: 50, recipient: "Hanako" })],
  mixed: [call("get_weather", { location: "Tokyo" }), call("process_payment", { amount: 50, recipient: "Hanako" })],
  delegate: [call("transfer_to_agent", { agentName: "helper" })],
};

const user = (said: string): Content => ({ role: "user", parts: [{ text: said }] });

function paymentTool(payments: unknown[]): BaseTool {
  return new FunctionTool({
    name: "process_payment",
    description: "Pays.",
    requireConfirmation: true,
    parameters: z.object({ amount: z.number(), recipient: z.string() }),
    execute: (payment) => {
      payments.push(payment);
      return { paid: payment.amount };
    },
  });
}

function weatherTool(): BaseTool {
  return new FunctionTool({
    name: "get_weather",
    description: "The weather.",
    parameters: z.object({ location: z.string() }),
    execute: () => ({ temperature: 21 }),
  });
}

/** A minimal gate: it returns a placeholder for payments, removes it from the event again, and pauses the run. */
function holding(
  tool = "process_payment",
): Required<Pick<Hooks, "beforeToolCallback" | "onEventCallback" | "beforeModelCallback">> {
  let paused = false;
  return {
    async beforeToolCallback({ tool: { name } }) {
      if (name !== tool) return undefined;
      paused = true;
      return { held: true };
    },
    async onEventCallback({ event }) {
      const kept = event.content?.parts?.filter((part) => !isHeld(part));
      if (kept && kept.length < event.content!.parts!.length)
        event.content = kept.length > 0 ? { role: "user", parts: kept } : undefined;
      return undefined;
    },
    async beforeModelCallback() {
      if (!paused) return undefined;
      paused = false;
      return {};
    },
  };
}

const isHeld = ({ functionResponse }: Part): boolean => functionResponse?.response?.["held"] === true;
const names = (events: readonly Event[]) => events.flatMap(getFunctionResponses).map(({ name }) => name);
const callOf = (events: readonly Event[], name: string) =>
  events.flatMap(getFunctionCalls).find((found) => found.name === name)!;
const responseMessage = (id: string | undefined, name: string, response: Record<string, unknown>): Content => ({
  role: "user",
  parts: [{ functionResponse: { id, name, response } }],
});

/** The ids of the calls and responses in a request, in order. */
const idsIn = (contents: readonly Content[] = []): (string | undefined)[] =>
  contents.flatMap(({ parts = [] }) =>
    parts.flatMap(({ functionCall, functionResponse }) => {
      const part = functionCall ?? functionResponse;
      return part ? [part.id] : [];
    }),
  );
const idsBroke = `K23 broke: responses may be matched with the wrong calls; see keepsId in ${history} and P9 in ${plan}`;

describe("ADK by request", () => {
  it("K1 a value from beforeToolCallback is the result: the tool and FunctionTool's own confirmation are skipped", async () => {
    const scene = await openScene({ hooks: { beforeToolCallback: async () => ({ held: true }) } });
    const events = await scene.run(user("pay"));
    expect(scene.payments, `K1 broke: a held tool ran; see beforeToolCallback in ${gate}`).toEqual([]);
    const [response] = events.flatMap(getFunctionResponses);
    expect(response?.response, `K1 broke: see beforeToolCallback in ${gate}`).toEqual({ held: true });
    const calls = events.flatMap(getFunctionCalls).map(({ name }) => name);
    expect(calls, `K1 broke: ADK asks for a confirmation itself; see beforeToolCallback in ${gate}`).toEqual([
      "process_payment",
    ]);
  });

  it("K1 undefined from beforeToolCallback runs the tool", async () => {
    const scene = await openScene({
      says: { sky: [call("get_weather", { location: "Tokyo" })] },
      hooks: { beforeToolCallback: async () => undefined },
    });
    const [response] = (await scene.run(user("sky"))).flatMap(getFunctionResponses);
    expect(response?.response, `K1 broke: a free tool is not run; see beforeToolCallback in ${gate}`).toEqual({
      temperature: 21,
    });
  });

  it("K2 the call, with its id, is in session.events when beforeToolCallback runs", async () => {
    let seen: boolean | undefined;
    const scene = await openScene({
      hooks: {
        async beforeToolCallback({ toolContext }) {
          const ids = toolContext.invocationContext.session.events.flatMap(getFunctionCalls).map(({ id }) => id);
          seen = toolContext.functionCallId !== undefined && ids.includes(toolContext.functionCallId);
          return { held: true };
        },
      },
    });
    await scene.run(user("pay"));
    expect(
      seen,
      `K2 broke: a row may exist for a call that was never stored; see #hold in ${gate} and knowledgeOf in ${plan}`,
    ).toBe(true);
  });

  it("K24 the arguments that callbacks get are the object in the call's event", async () => {
    const objects: unknown[] = [];
    const scene = await openScene({
      hooks: {
        async onEventCallback({ event }) {
          objects.push(...getFunctionCalls(event).map(({ args }) => args));
          return undefined;
        },
        async beforeToolCallback({ toolArgs }) {
          objects.push(toolArgs);
          return { held: true };
        },
      },
    });
    await scene.run(user("pay"));
    expect(objects).toHaveLength(2);
    const broke = "K24 broke: a call is shown twice; see inputOf in src/agent/adk/call-input.ts";
    expect(objects[0] === objects[1], broke).toBe(true);
  });

  it("K25 ADK calls the runAsync and validateArgs that a tool has at that moment", async () => {
    const ran: unknown[] = [];
    const tool = new FunctionTool({
      name: "work",
      description: "Works.",
      parameters: z.object({}),
      execute: (args) => void ran.push(args),
    });
    const scene = await openScene({ tools: [tool], says: { work: [call("work", {})] } });
    const { runAsync } = tool;
    Object.defineProperty(tool, "runAsync", {
      value: (request: object) => runAsync.call(tool, { ...request, args: { given: true } } as never),
    });
    Object.defineProperty(tool, "validateArgs", { value: (args: object) => ({ ...args, parsed: true }) });
    await scene.run(user("work"));
    const broke =
      "K25 broke: calls run with other arguments than shown; see bindFreeCall and asParsed in src/agent/adk";
    expect(ran, broke).toEqual([{ given: true, parsed: true }]);
  });

  it("K3 a change made in place by onEventCallback is what is stored and yielded", async () => {
    const scene = await openScene({ hooks: holding() });
    const yielded = await scene.run(user("mixed"));
    const why = `K3 broke: placeholders leak; see onEventCallback in ${gate}`;
    expect(names(yielded), `${why} (yielded)`).toEqual(["get_weather"]);
    expect(names(await scene.events()), `${why} (stored)`).toEqual(["get_weather"]);
  });

  it("K3 customMetadata set by onEventCallback is stored with the event", async () => {
    const scene = await openScene({
      hooks: {
        ...holding(),
        async onEventCallback({ event }) {
          if (!event.content?.parts?.some(isHeld)) return undefined;
          event.customMetadata = { kept: event.content.parts.filter((part) => !isHeld(part)) };
          event.content = undefined;
          return undefined;
        },
      },
    });
    await scene.run(user("mixed"));
    const kept = (await scene.events()).flatMap(
      ({ customMetadata }) => (customMetadata?.["kept"] as Part[] | undefined) ?? [],
    );
    expect(
      kept.map(({ functionResponse }) => functionResponse?.name),
      `K3 broke: free results of a held step are lost; see onEventCallback in ${gate} and keptResults in ${history}`,
    ).toEqual(["get_weather"]);
  });

  it("K4 {} from beforeModelCallback ends the run without a request and without an event", async () => {
    const scene = await openScene({ hooks: holding() });
    const events = await scene.run(user("pay"));
    expect(
      scene.gemini.requests,
      `K4 broke: the model is asked while a call is held; see beforeModelCallback in ${gate}`,
    ).toHaveLength(1);
    // The call, its response without the placeholder, and the usage that follows a call.
    expect(events, `K4 broke: {} became an event; see beforeModelCallback in ${gate}`).toHaveLength(3);
  });

  it("K5 runAsync with the responses of an open step runs no tool and sends one valid turn", async () => {
    const scene = await openScene({ hooks: holding() });
    await scene.run(user("mixed"));
    const { id } = callOf(await scene.events(), "process_payment");
    await scene.run(responseMessage(id, "process_payment", { paid: 50 }));
    const why = `K5 broke: see planOutcomes in ${plan} and resume in ${requestSession}`;
    expect(scene.payments, `${why}: a response makes ADK run the tool`).toEqual([]);
    expect(scene.gemini.requests, why).toHaveLength(2);
    expect(scene.gemini.requests[1]?.pairingErrors, why).toEqual([]);
    expect(
      scene.gemini.requests[1]?.responses.map(({ name }) => name),
      why,
    ).toEqual(["get_weather", "process_payment"]);
  });

  it("K6 with isResumable, ADK resumes the agent that made the call", async () => {
    const scene = await openScene({ hooks: holding("helper_pay"), below: withHelper });
    await scene.run(user("delegate"));
    const { id } = callOf(await scene.events(), "helper_pay");
    const events = await scene.run(responseMessage(id, "helper_pay", { paid: 7 }));
    const authors = new Set(events.map(({ author }) => author));
    expect([...authors], `K6 broke: see resumabilityConfig in ${runners}`).toEqual(["helper"]);
  });

  it("K7 a user message with an empty text starts a run and is in no request", async () => {
    const scene = await openScene();
    await scene.run(user("hello"));
    await scene.run(user(""));
    expect(scene.gemini.requests, `K7 broke: see emptyContent in ${requestRun}`).toHaveLength(2);
    const parts = scene.gemini.requests[1]?.contents.flatMap((content) => content.parts ?? []);
    expect(
      parts?.some((part) => part.text === ""),
      `K7 broke: see emptyContent in ${requestRun}`,
    ).toBe(false);
  });

  it("K8 ADK asks for no confirmation when the request is deleted in afterToolCallback", async () => {
    const asking = new FunctionTool({
      name: "asking",
      description: "Asks by itself.",
      parameters: z.object({}),
      execute: (_, context) => {
        context?.requestConfirmation({ hint: "Sure?" });
        return { status: "asked" };
      },
    });
    let hint: string | undefined;
    const scene = await openScene({
      tools: [asking],
      says: { ask: [call("asking")] },
      hooks: {
        async afterToolCallback({ toolContext }) {
          const { requestedToolConfirmations: asked } = toolContext.actions;
          hint = asked[toolContext.functionCallId!]?.hint;
          delete asked[toolContext.functionCallId!];
          return { held: true };
        },
      },
    });
    const events = await scene.run(user("ask"));
    expect(hint, `K8 broke: requests of ctx.requestConfirmation() have moved; see afterToolCallback in ${gate}`).toBe(
      "Sure?",
    );
    const calls = events.flatMap(getFunctionCalls).map(({ name }) => name);
    expect(calls, `K8 broke: ADK asks too; see afterToolCallback in ${gate}`).toEqual(["asking"]);
  });

  it("K9 a context that we build runs a confirmed tool and has its state delta", async () => {
    const scene = await openScene({
      tools: [
        new FunctionTool({
          name: "remember",
          description: "Remembers.",
          requireConfirmation: true,
          parameters: z.object({ word: z.string() }),
          execute: ({ word }, context) => {
            context?.state.set("word", word);
            return { remembered: word };
          },
        }),
      ],
    });
    const invocationContext = new InvocationContext({
      sessionService: scene.sessionService,
      invocationId: "outside",
      agent: scene.agent,
      session: await scene.load(),
      pluginManager: scene.runner.pluginManager,
      runConfig: {},
    });
    const tools = await scene.agent.canonicalTools(new ReadonlyContext(invocationContext));
    const toolContext = new Context({
      invocationContext,
      functionCallId: "call-1",
      toolConfirmation: new ToolConfirmation({ confirmed: true }),
    });
    const tool = tools.find(({ name }) => name === "remember");
    const why = `K9 broke: see prepare in ${toolCalls}`;
    expect(await tool?.runAsync({ args: { word: "tea" }, toolContext }), why).toEqual({ remembered: "tea" });
    expect(toolContext.actions.stateDelta, why).toEqual({ word: "tea" });
  });

  it("K10 alarm: AgentTool still runs its agent without our plugins", async () => {
    const seen: string[] = [];
    const scene = await openScene({
      says: { ask: [call("helper", { request: "hello" })] },
      below: (model) => ({
        tools: [new AgentTool({ agent: new LlmAgent({ name: "helper", description: "Helps.", model: model() }) })],
      }),
      hooks: {
        async beforeModelCallback({ callbackContext }) {
          seen.push(callbackContext.agentName);
          return undefined;
        },
      },
    });
    await scene.run(user("ask"));
    expect(
      seen.includes("helper"),
      `K10 is fixed in ADK: isAgentTool in ${gate} and runAgent in ${requestSession} can go if a held inner call can pause the outer one`,
    ).toBe(false);
  });

  it("K11 alarm: a response with only usage after a transfer still makes the parent ask the model again", async () => {
    const scene = await openScene({ below: withHelper });
    await scene.run(user("delegate"));
    expect(scene.gemini.requests.length, `K11 is fixed in ADK: takeUsage in ${gatheredCalls} can go`).toBeGreaterThan(
      3,
    );
  });

  it("K11 a response without content and without usage makes no event", async () => {
    const scene = await openScene({
      below: withHelper,
      hooks: {
        async afterModelCallback({ llmResponse }) {
          return llmResponse.content ? undefined : { ...llmResponse, usageMetadata: undefined };
        },
      },
    });
    await scene.run(user("delegate"));
    expect(scene.gemini.requests, `K11 broke: see takeUsage in ${gatheredCalls}`).toHaveLength(3);
  });

  it("K12 alarm: a response as the last event still drops every turn since its call", async () => {
    const scene = await openScene();
    const session = await scene.load();
    const add = (author: string, role: string, part: Part) =>
      scene.sessionService.appendEvent({ session, event: createEvent({ author, content: { role, parts: [part] } }) });
    await add("user", "user", { text: "weather" });
    await add("root_agent", "model", { functionCall: { id: "call-1", name: "get_weather", args: {} } });
    await add("user", "user", { text: "never mind" });
    await add("root_agent", "model", { text: "Fine." });
    await scene.run(responseMessage("call-1", "get_weather", { temperature: 21 }));
    expect(
      JSON.stringify(scene.gemini.requests[0]?.contents).includes("never mind"),
      `K12 is fixed in ADK: late outcomes can be responses instead of notes; see trailingNote and hasMovedOn in ${plan}`,
    ).toBe(false);
  });

  it("K13 a runner gives access to its agents by name, to their tools, and to its plugins", async () => {
    const scene = await openScene({ below: withHelper });
    const why = `K13 broke: see hostOf in ${runners}, findTool in src/agent/adk/agents.ts and callTool in ${toolCalls}`;
    const { agent } = scene.runner;
    expect("findAgent" in agent && agent.findAgent("root_agent"), why).toBe(scene.agent);
    const helper = "findAgent" in agent ? agent.findAgent("helper") : undefined;
    expect(helper && isLlmAgent(helper), why).toBe(true);
    const tools = helper && isLlmAgent(helper) ? await helper.canonicalTools() : [];
    expect(
      tools.map(({ name }) => name),
      why,
    ).toEqual(["helper_pay"]);
    expect(typeof scene.runner.pluginManager.runBeforeToolCallback, why).toBe("function");
    expect(typeof scene.runner.pluginManager.runAfterToolCallback, why).toBe("function");
    expect(typeof scene.runner.pluginManager.runOnToolErrorCallback, why).toBe("function");
  });

  it("K14 after a value from the first plugin's afterToolCallback no other afterToolCallback is called", async () => {
    const touched: string[] = [];
    const scene = await openScene({
      hooks: { ...holding(), afterToolCallback: async ({ result }) => (result?.["held"] ? result : undefined) },
      root: {
        afterToolCallback: ({ tool }) => {
          touched.push(tool.name);
          return { forged: true };
        },
      },
    });
    class Second extends BasePlugin {
      override async afterToolCallback({ tool }: Parameters<BasePlugin["afterToolCallback"]>[0]) {
        touched.push(`second:${tool.name}`);
        return undefined;
      }
    }
    scene.runner.pluginManager.registerPlugin(new Second("second"));
    await scene.run(user("pay"));
    expect(touched, `K14 broke: callbacks see calls that have not run; see afterToolCallback in ${gate}`).toEqual([]);
  });

  it("K15 alarm: each chunk with calls of a streamed response still makes its own event and runs its tools", async () => {
    const scene = await openScene({
      says: { both: twoCallsApart },
      hooks: { beforeToolCallback: async () => ({ ok: true }) },
    });
    const events = await scene.run(user("both"));
    expect(
      events.map((event) => getFunctionCalls(event).length).filter((count) => count > 0),
      `K15 is fixed in ADK: it gathers the calls itself, and ${gatheredCalls} need not`,
    ).toEqual([1, 1]);
  });

  it("K15 a streamed response has one more piece after its calls, and the calls can be moved into it", async () => {
    const gathered: Part[] = [];
    const scene = await openScene({
      says: { both: twoCallsApart },
      hooks: {
        async beforeToolCallback() {
          return { ok: true };
        },
        async afterModelCallback({ llmResponse }) {
          const calls = llmResponse.content?.parts?.filter(({ functionCall }) => functionCall) ?? [];
          if (calls.length > 0) {
            gathered.push(...calls);
            llmResponse.content = undefined;
            llmResponse.usageMetadata = undefined;
          } else if (!llmResponse.partial && gathered.length > 0)
            llmResponse.content = { role: "model", parts: gathered.splice(0) };
          return undefined;
        },
      },
    });
    const events = await scene.run(user("both"));
    const why = `K15 broke: calls of a streamed response are lost; see hasLaterPiece in ${gatheredCalls}`;
    expect(
      events.flatMap(getFunctionCalls).map(({ args }) => args?.["location"]),
      why,
    ).toEqual(["Tokyo", "Kyoto"]);
    expect(names(events), why).toEqual(["get_weather", "get_weather"]);
    expect(scene.gemini.requests[1]?.pairingErrors, why).toEqual([]);
    expect(scene.gemini.requests, why).toHaveLength(2);
    expect(scene.agent.canonicalModel instanceof Gemini, `${why}: the model is no longer recognised`).toBe(true);
  });

  it("K16 after a throw onToolErrorCallback comes before afterToolCallback, whose value is not used", async () => {
    const order: string[] = [];
    const failing = new LongRunningFunctionTool({
      name: "failing",
      description: "Fails.",
      parameters: z.object({}),
      execute: () => {
        throw new Error("no luck");
      },
    });
    const scene = await openScene({
      tools: [failing],
      says: { fail: [call("failing")] },
      hooks: {
        async onToolErrorCallback() {
          order.push("error");
          return undefined;
        },
        async afterToolCallback({ result }) {
          order.push(`after ${JSON.stringify(result)}`);
          return { held: true };
        },
      },
    });
    const [response] = (await scene.run(user("fail"))).flatMap(getFunctionResponses);
    const why = `K16 broke: a call may be held although its tool threw and it has a response; see onToolErrorCallback in ${gate}`;
    expect(order, why).toEqual(["error", "after undefined"]);
    expect(response?.response, why).toEqual({ error: "Error in tool 'failing': no luck" });
  });

  it("K16 alarm: a long-running tool that throws still gets no response", async () => {
    const failing = new LongRunningFunctionTool({
      name: "failing",
      description: "Fails.",
      parameters: z.object({}),
      execute: () => {
        throw new Error("no luck");
      },
    });
    const scene = await openScene({ tools: [failing], says: { fail: [call("failing")] } });
    const responses = (await scene.run(user("fail"))).flatMap(getFunctionResponses);
    expect(
      responses,
      `K16 is fixed in ADK: the error that afterToolCallback in ${gate} returns for a long-running tool can go`,
    ).toEqual([]);
  });

  it("K17 tools can be added to a request until its calls are handled", async () => {
    const scene = await openScene({
      says: { odd: [call("no_such_tool")] },
      hooks: {
        async beforeModelCallback({ llmRequest }) {
          const tool = new FunctionTool({
            name: "no_such_tool",
            description: "",
            parameters: z.object({}),
            execute: () => ({ error: "none" }),
          });
          llmRequest.toolsDict["no_such_tool"] = tool;
          return undefined;
        },
      },
    });
    const events = await scene.run(user("odd"));
    const why = `K17 broke: the call of an unknown tool gets no response; see addMissingTools in src/agent/adk/missing-tool.ts`;
    expect(
      events.flatMap(getFunctionResponses).map(({ response }) => response),
      why,
    ).toEqual([{ error: "none" }]);
    expect(scene.gemini.requests[0]?.toolNames, `${why}: the model is told about the added tool`).not.toContain(
      "no_such_tool",
    );
  });

  it("K23 ADK generates ids that start with adk- for calls without one, and requests do not have them", async () => {
    const scene = await openScene({ says: { sky: [call("get_weather", { location: "Tokyo" })] } });
    await scene.run(user("sky"));
    const { id } = callOf(await scene.events(), "get_weather");
    expect(id, idsBroke).toMatch(/^adk-/);
    expect(idsIn(scene.gemini.requests[1]?.contents), idsBroke).toEqual([undefined, undefined]);
  });

  it("K23 requests keep every other id, of the call and of its response", async () => {
    const says = { sky: [call("get_weather", { location: "Tokyo" }, { id: "call-7" })] };
    const scene = await openScene({ says });
    await scene.run(user("sky"));
    expect(callOf(await scene.events(), "get_weather").id, idsBroke).toBe("call-7");
    expect(idsIn(scene.gemini.requests[1]?.contents), idsBroke).toEqual(["call-7", "call-7"]);
  });

  it("K23 responses that were stored one by one are in the order of storing, not of the calls", async () => {
    const scene = await openScene();
    const session = await scene.load();
    const add = (author: string, role: string, ...parts: Part[]) =>
      scene.sessionService.appendEvent({ session, event: createEvent({ author, content: { role, parts } }) });
    const step = ["live-1", "live-2"].map((id): Part => ({ functionCall: { id, name: "get_weather", args: {} } }));
    const responseTo = (id: string): Part => ({ functionResponse: { id, name: "get_weather", response: {} } });
    await add("user", "user", { text: "weather" });
    await add("root_agent", "model", ...step);
    await add("root_agent", "user", responseTo("live-2"));
    await add("root_agent", "user", responseTo("live-1"));
    await scene.run(user("hello"));
    expect(
      idsIn(scene.gemini.requests[0]?.contents),
      "K23 changed: see orderResponses in src/agent/adk/request-contents.ts",
    ).toEqual(["live-1", "live-2", "live-2", "live-1"]);
  });

  it("K26 alarm: every run by request closes the toolsets of all its agents", async () => {
    let closed = 0;
    class Counted extends BaseToolset {
      override async getTools(): Promise<BaseTool[]> {
        return [];
      }
      override async close(): Promise<void> {
        closed += 1;
      }
    }
    const scene = await openScene({ root: { tools: [new Counted([])] } });
    await scene.run(user("hello"));
    await scene.run(user("hello"));
    expect(closed, "K26 was repaired: see close in src/agent/adk/guarded-toolset.ts").toBe(2);
  });
});

/** ADK's own connection passes the calls of newer models on at once; those of older ones wait for the end of the turn. */
const liveModel = "gemini-3.1-flash-live-preview";

/** What the genai client gives its socket factory. */
interface OnMessage {
  onmessage: (event: { data: unknown }) => void;
}
const isTurnEnd = (event: Event): boolean => event.turnComplete === true;

describe("ADK live", () => {
  it("K1 live: a value from beforeToolCallback is the result, and the tool is skipped", async () => {
    const scene = await openScene({ model: liveModel, hooks: { beforeToolCallback: async () => ({ held: true }) } });
    const events = await scene.runLive("pay", isTurnEnd);
    expect(scene.payments, `K1 broke: a held tool ran live; see beforeToolCallback in ${gate}`).toEqual([]);
    const [response] = events.flatMap(getFunctionResponses);
    expect(response?.response, `K1 broke: see beforeToolCallback in ${gate}`).toEqual({ held: true });
    const calls = events.flatMap(getFunctionCalls).map(({ name }) => name);
    expect(calls, `K1 broke: ADK asks live; see beforeToolCallback in ${gate}`).toEqual(["process_payment"]);
  });

  it("K2 live: the call, with its id, is in session.events when beforeToolCallback runs", async () => {
    let seen: boolean | undefined;
    const scene = await openScene({
      model: liveModel,
      hooks: {
        async beforeToolCallback({ toolContext }) {
          const ids = toolContext.invocationContext.session.events.flatMap(getFunctionCalls).map(({ id }) => id);
          seen = toolContext.functionCallId !== undefined && ids.includes(toolContext.functionCallId);
          return { held: true };
        },
      },
    });
    await scene.runLive("pay", isTurnEnd);
    expect(seen, `K2 broke: a row may exist for a call that was never stored; see #hold in ${gate}`).toBe(true);
  });

  it("K24 live: the arguments that callbacks get are the object in the call's event", async () => {
    const objects: unknown[] = [];
    const scene = await openScene({
      model: liveModel,
      hooks: {
        async onEventCallback({ event }) {
          objects.push(...getFunctionCalls(event).map(({ args }) => args));
          return undefined;
        },
        async beforeToolCallback({ toolArgs }) {
          objects.push(toolArgs);
          return { held: true };
        },
      },
    });
    await scene.runLive("pay", isTurnEnd);
    expect(objects).toHaveLength(2);
    const broke = "K24 broke: a call is shown twice; see inputOf in src/agent/adk/call-input.ts";
    expect(objects[0] === objects[1], broke).toBe(true);
  });

  it("K3 live: a change made in place by onEventCallback is what is stored, yielded and sent", async () => {
    const { beforeToolCallback, onEventCallback } = holding();
    const scene = await openScene({ model: liveModel, hooks: { beforeToolCallback, onEventCallback } });
    const yielded = await scene.runLive("mixed", (event) => names([event]).includes("get_weather"));
    const why = `K3 broke: placeholders leak; see onEventCallback in ${gate}`;
    expect(names(yielded), `${why} (yielded)`).toEqual(["get_weather"]);
    expect(names(await scene.events()), `${why} (stored)`).toEqual(["get_weather"]);
    const sent = scene.gemini.live.sessions[0]!.messages.flatMap(
      ({ toolResponse }) => toolResponse?.functionResponses ?? [],
    );
    expect(
      sent.map(({ name }) => name),
      `${why} (sent to the model)`,
    ).toEqual(["get_weather"]);
  });

  it("K3 live: an event without responses sends nothing, and the run goes on", async () => {
    const { beforeToolCallback, onEventCallback } = holding();
    const scene = await openScene({ model: liveModel, hooks: { beforeToolCallback, onEventCallback } });
    const queue = new LiveRequestQueue();
    const { userId, sessionId } = scene.session;
    const runConfig = { responseModalities: [Modality.TEXT] };
    const run = scene.runner.runLive({ userId, sessionId, liveRequestQueue: queue, runConfig });
    queue.sendContent(user("pay"));
    let held = false;
    let spoken = "";
    for await (const event of run) {
      if (!held && getFunctionCalls(event).length === 0 && event.content === undefined) {
        held = true;
        queue.sendContent(user("hello"));
      }
      spoken += event.partial ? "" : (event.content?.parts?.map((part) => part.text ?? "").join("") ?? "");
      if (event.turnComplete && spoken) queue.close();
    }
    const why = `K3 broke: a held call gets a response or stops the run; see onEventCallback in ${gate} and ${liveConnection}`;
    expect({ held, spoken }, why).toEqual({ held: true, spoken: "Hello." });
    const kinds = scene.gemini.live.sessions[0]!.messages.map((message) => Object.keys(message)[0]);
    expect(kinds, why).not.toContain("toolResponse");
  });

  it.each(["live", "by request"])(
    "K18 beforeRunCallback gets the session object that the run itself uses, %s",
    async (mode) => {
      let given: unknown;
      let used: unknown;
      const scene = await openScene({
        model: liveModel,
        hooks: {
          async beforeRunCallback({ invocationContext }) {
            given = invocationContext.session;
            return undefined;
          },
          async beforeToolCallback({ toolContext }) {
            used = toolContext.invocationContext.session;
            return { held: true };
          },
        },
      });
      if (mode === "live") await scene.runLive("pay", isTurnEnd);
      else await scene.run(user("pay"));
      const why = `K18 broke: ${gate} does not know its runs, and ${liveRun} gives a session that the run does not read`;
      expect(given, why).toBeDefined();
      expect(used === given, why).toBe(true);
      expect((given as { events: Event[] }).events.length, why).toBeGreaterThan(0);
    },
  );

  it("K19 alarm: a live run still calls no model callbacks and no message callback of plugins", async () => {
    const called: string[] = [];
    const note = (name: string) => async () => {
      called.push(name);
      return undefined;
    };
    const scene = await openScene({
      model: liveModel,
      hooks: {
        beforeModelCallback: note("beforeModel"),
        afterModelCallback: note("afterModel"),
        onUserMessageCallback: note("onUserMessage"),
      },
    });
    await scene.runLive("hello", isTurnEnd);
    expect(
      called,
      `K19 is fixed in ADK: beforeModelCallback and afterModelCallback in ${gate} must do nothing in live runs`,
    ).toEqual([]);
  });

  it("K20 alarm: a live run still does not store the user's message", async () => {
    const scene = await openScene({ model: liveModel });
    await scene.runLive("hello", isTurnEnd);
    const authors = (await scene.events()).map(({ author }) => author);
    expect(
      authors.includes("user"),
      `K20 is fixed in ADK: #say in ${liveConnection} stores the message a second time`,
    ).toBe(false);
  });

  it("K21 the genai client makes its sockets with a factory that can be replaced", async () => {
    const scene = await openScene({ model: liveModel });
    const live = (scene.agent.canonicalModel as Gemini).liveApiClient.live as unknown as Record<string, unknown>;
    const why = `K21 broke: a connection that is never set up cannot be closed; see reachable in src/agent/adk/live/open-live.ts`;
    const factory = live["webSocketFactory"] as { create?: unknown } | undefined;
    expect(typeof factory?.create, why).toBe("function");
    let made = 0;
    const create = (...args: unknown[]) => {
      made += 1;
      return (factory as { create: (...given: unknown[]) => unknown }).create(...args);
    };
    const own = Object.create(live, { webSocketFactory: { value: { create } } }) as {
      connect(options: object): Promise<{ close(): void }>;
    };
    const session = await own.connect({ model: liveModel, config: {}, callbacks: { onmessage: () => undefined } });
    session.close();
    expect(made, why).toBe(1);
  });

  it("K21 the genai client gives messages of the Gemini API on as they came", async () => {
    const scene = await openScene({ model: liveModel });
    const live = (scene.agent.canonicalModel as Gemini).liveApiClient.live as unknown as Record<string, unknown>;
    const factory = live["webSocketFactory"] as { create: (url: string, headers: unknown, on: OnMessage) => unknown };
    const came: unknown[] = [];
    const create = (url: string, headers: unknown, { onmessage, ...on }: OnMessage) => {
      const note = (event: { data: unknown }) => {
        came.push(JSON.parse(String(event.data)));
        onmessage({ data: String(event.data) });
      };
      return factory.create(url, headers, { ...on, onmessage: note });
    };
    const own = Object.create(live, { webSocketFactory: { value: { create } } }) as {
      connect(options: object): Promise<{ close(): void; sendClientContent(content: object): void }>;
    };
    const given: object[] = [];
    const onmessage = (message: object) => void given.push({ ...message });
    const session = await own.connect({ model: liveModel, config: {}, callbacks: { onmessage } });
    session.sendClientContent({ turns: [{ role: "user", parts: [{ text: "hello" }] }], turnComplete: true });
    await expect.poll(() => JSON.stringify(given)).toContain("turnComplete");
    session.close();
    expect(given, "K21 broke: messages after the set-up must go through the client; see open-live.ts").toEqual(came);
  });

  it("K22 a partial response with empty usage and metadata becomes an event and is not stored", async () => {
    const scene = await openScene({ model: liveModel });
    const llm = scene.agent.canonicalModel as Gemini;
    const connect = llm.connect.bind(llm);
    const notice: LlmResponse = { partial: true, usageMetadata: {}, customMetadata: { notice: "here" } };
    llm.connect = async (request) => {
      const connection = await connect(request);
      const receive = connection.receive.bind(connection);
      connection.receive = async function* () {
        yield notice;
        yield* receive();
      };
      return connection;
    };
    scene.agent.model = llm;
    const [first] = await scene.runLive("hello", isTurnEnd);
    const why = `K22 broke: notices of the connection are lost; see notice in src/agent/adk/live/notices.ts`;
    expect(first?.customMetadata, why).toEqual({ notice: "here" });
    expect(JSON.stringify(await scene.events()), `${why} (or stored)`).not.toContain("notice");
  });
});

const twoCallsApart: readonly Piece[] = [
  call("get_weather", { location: "Tokyo" }),
  pause(Promise.resolve()),
  call("get_weather", { location: "Kyoto" }),
];

function withHelper(model: () => Gemini) {
  const tool = new FunctionTool({
    name: "helper_pay",
    description: "Pays.",
    parameters: z.object({ amount: z.number() }),
    execute: ({ amount }) => ({ paid: amount }),
  });
  const helper = new LlmAgent({ name: "helper", description: "Pays.", model: model(), tools: [tool] });
  return { subAgents: [helper] };
}
