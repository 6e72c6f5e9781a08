/** All kinds of agents in a live chat: workflow agents, agents of plain code, callbacks that reply, and slow tools. */
import {
  BaseAgent,
  BasePlugin,
  type BaseTool,
  BaseToolset,
  createEvent,
  type Event,
  FunctionTool,
  type InvocationContext,
  LlmAgent,
  LoopAgent,
  ParallelAgent,
  SequentialAgent,
} from "@google/adk";
import type { Content } from "@google/genai";
import { type Bridge, createBridge } from "adk-stream-protocol";
import { call, closeWith, gate, pause, type Rule, text } from "adk-stream-protocol/testing";
import { memoryStore } from "adk-stream-protocol/stores/memory";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  expectWhole,
  liveRules,
  type LiveStage,
  type LiveStageOptions,
  openLiveStage,
} from "../fixtures/live-stage.ts";
import { owner } from "../fixtures/mortal-process.ts";
import { sequence, textOf, userMessage } from "../fixtures/world.ts";

const goesOn = "start toa ss text fs finish [DONE]";
const spoken = "start ss text fs finish [DONE]";
const modes = [{ live: true }, { live: false }];

const yes = async (stage: LiveStage) => stage.answer((await stage.pending()).map(({ id }) => ({ id, approved: true })));
const timesTold = (stage: LiveStage, amount: number) =>
  [...stage.responses().map(({ response }) => JSON.stringify(response)), ...stage.textToModel()].filter((said) =>
    said.includes(`{"paid":${amount}}`),
  ).length;

describe("agents in a live chat", () => {
  const team =
    (Team: typeof SequentialAgent | typeof LoopAgent | typeof ParallelAgent): LiveStageOptions["agent"] =>
    ({ model, tools }) =>
      new Team({
        name: "team",
        subAgents: ["First.", "Second."].map(
          (instruction, index) => new LlmAgent({ name: `agent_${index + 1}`, model: model(), instruction, tools }),
        ),
      });
  const isSecond: Rule["when"] = ({ system, text: said }) => system.includes("Second.") && /go/.test(said);

  it("in a sequence: each speaks when the one before is done, and the reply ends with the last", async () => {
    const stage = await openLiveStage({
      agent: team(SequentialAgent),
      rules: [
        { when: isSecond, say: [text("I am the second."), call("task_completed", {})] },
        { when: /^go$/, say: [text("I am the first."), call("task_completed", {})] },
        ...liveRules,
      ],
    });
    const reply = await stage.say("go");
    expect(textOf(reply)).toBe("I am the first.I am the second.");
    expect(reply.chunks.at(-1)).toMatchObject({ type: "finish", finishReason: "stop" });
    expect(stage.gemini.live.sessions).toHaveLength(2);
    // The run is over. The next message starts another run with the first agent.
    expect(textOf(await stage.say("go"))).toBe("I am the first.I am the second.");
    expect(sequence(await stage.say("hello"))).toBe(spoken);
    await stage.say("pay");
    expect(sequence(await yes(stage))).toBe(goesOn);
    await expectWhole(stage);
  });

  it("in a sequence: the second can ask, and continues after the yes", async () => {
    const stage = await openLiveStage({
      agent: team(SequentialAgent),
      rules: [
        { when: ({ responses }) => responses.some(({ name }) => name === "process_payment"), say: [text("Paid.")] },
        { when: isSecond, say: [call("process_payment", { amount: 50, recipient: "Hanako" })] },
        { when: /^go$/, say: [call("task_completed", {})] },
        ...liveRules,
      ],
    });
    await stage.say("go");
    const reply = await yes(stage);
    expect(textOf(reply)).toBe("Paid.");
    expect(timesTold(stage, 50)).toBe(1);
    await expectWhole(stage);
  });

  it.each([SequentialAgent, LoopAgent])(
    "%o ends without starting another agent when the bridge closes",
    async (Team) => {
      const stage = await openLiveStage({ agent: team(Team) });
      expect(sequence(await stage.say("hello"))).toBe(spoken);
      await stage.say("pay");
      expect(sequence(await yes(stage))).toBe(goesOn);
      await expectWhole(stage);
      await stage.bridge.close();
      // ADK would start the next agent when the connection of the first closes.
      await stage.until(() => stage.gemini.live.open === 0);
      expect(stage.gemini.live.sessions).toHaveLength(1);
    },
  );

  it("in a loop are stopped if their model always closes the connection, in a turn and between turns", async () => {
    const stage = await openLiveStage({
      agent: team(LoopAgent),
      bridge: { maxLlmCalls: 3 },
      rules: [{ when: /go/, say: [text("Bye."), closeWith(1000)] }, ...liveRules],
    });
    const reply = await stage.say("go");
    expect(reply.chunks.at(-1)).toMatchObject({ type: "error", errorText: expect.stringMatching(/came to no end/) });
    const { sessions } = stage.gemini.live;
    expect(sessions.length).toBeLessThanOrEqual(5);
    await stage.say("hello");
    const before = sessions.length;
    sessions.at(-1)!.close(1000);
    await stage.until(() => stage.gemini.live.open === 0);
    expect(sequence(await stage.say("hello"))).toBe(spoken);
    expect(sessions.length).toBeLessThanOrEqual(before + 2);
    expect(stage.payments).toEqual([]);
  });

  it("in parallel cannot run live in ADK, and the user is told so", async () => {
    const stage = await openLiveStage({ agent: team(ParallelAgent) });
    const reply = await stage.say("hello");
    expect(reply.chunks.at(-1)).toMatchObject({ type: "error", errorText: expect.stringMatching(/cannot talk live/) });
    expect(sequence(await stage.say("hello", { live: false }))).toContain("text");
  });

  it("can start in many chats at once, also with instructions that are functions", async () => {
    const instruction = async () => "Help.";
    const stage = await openLiveStage({
      agent: ({ model, tools }) =>
        new SequentialAgent({
          name: "team",
          subAgents: ["first", "second"].map(
            (name) => new LlmAgent({ name, model: model(), instruction, tools: [...tools] }),
          ),
        }),
    });
    const say = async (name: string) => {
      const submission = { type: "message", message: userMessage("hello") } as const;
      const reply = await stage.bridge.submit(owner, name, submission, { live: true });
      const said: string[] = [];
      if ("turn" in reply)
        for await (const batch of stage.bridge.read(reply)) said.push(...batch.map(({ chunk }) => chunk.type));
      return said.at(-1);
    };
    expect(await Promise.all(["1", "2", "3"].map(say))).toEqual(["finish", "finish", "finish"]);
    const systems = stage.gemini.live.sessions.map(({ setup }) => JSON.stringify(setup?.systemInstruction));
    for (const system of systems) expect(system).toMatch(/Help\..*task_completed/);
  });

  it("continue and are told when a callback refuses a transfer", async () => {
    const stage = await openLiveStage({
      agent: ({ model, tools }) =>
        new LlmAgent({
          name: "receptionist",
          model: model(),
          tools,
          subAgents: [new LlmAgent({ name: "clerk", description: "Pays.", model: model(), tools })],
          beforeToolCallback: ({ tool }) => (tool.name === "transfer_to_agent" ? { result: "not today" } : undefined),
        }),
      rules: [{ when: /^go$/, say: [call("transfer_to_agent", { agentName: "clerk" })] }, ...liveRules],
    });
    expect(textOf(await stage.say("go"))).toContain("not today");
    expect(stage.gemini.live.sessions).toHaveLength(1);
    await expectWhole(stage);
  });

  it("can be shared by two bridges, each with its own live model", async () => {
    let agent: LlmAgent | undefined;
    const stage = await openLiveStage({
      agent: ({ model, tools }) => (agent = new LlmAgent({ name: "root_agent", model: model(), tools })),
    });
    const other = await createBridge({ agent: agent!, store: memoryStore(), live: { model: "other" } });
    const sayTo = async (bridge: Bridge, name: string) => {
      const message = userMessage("hello");
      const reply = await bridge.submit(owner, name, { type: "message", message }, { live: true });
      if ("turn" in reply) for await (const _ of bridge.read(reply)) continue;
    };
    await Promise.all([sayTo(stage.bridge, "1"), sayTo(other, "2"), sayTo(stage.bridge, "3"), sayTo(other, "4")]);
    const models = stage.gemini.live.sessions.map(({ model }) => model);
    expect(models.filter((model) => model === "other")).toHaveLength(2);
    expect(models).toHaveLength(4);
    await other.close();
  });

  it("that hide their model from ADK end with an error when no model connects in time", async () => {
    class Secretive extends BaseAgent {
      readonly #hidden: LlmAgent;
      constructor(hidden: LlmAgent) {
        super({ name: "secretive" });
        this.#hidden = hidden;
      }
      protected override runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
        return this.#hidden.runAsync(context);
      }
      protected override runLiveImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
        return this.#hidden.runLive(context);
      }
    }
    const stage = await openLiveStage({
      agent: ({ model, tools }) => new Secretive(new LlmAgent({ name: "hidden", model: model(), tools })),
      bridge: { live: { connectMs: 200, silenceMs: 200 } },
    });
    const reply = await stage.say("hello");
    expect(reply.chunks.at(-1)).toEqual({ type: "error", errorText: "The model was not reached within 0.4 seconds." });
    await stage.until(() => stage.gemini.live.open === 0);
  });
});

describe("a loop in a live chat", () => {
  const exitLoop = () =>
    new FunctionTool({
      name: "exit_loop",
      description: "Ends the loop.",
      parameters: z.object({}),
      execute: (_, context) => {
        context!.actions.escalate = true;
        return { over: true };
      },
    });
  const writers = (model: () => LlmAgent["model"]) =>
    new LoopAgent({
      name: "loop",
      maxIterations: 3,
      subAgents: [new LlmAgent({ name: "writer", model: model(), instruction: "Write.", tools: [exitLoop()] })],
    });
  const write: Rule = { when: /^go$/, say: [text("Written."), call("exit_loop", {})] };

  it("ends its reply when the agent ends the loop", async () => {
    const stage = await openLiveStage({ agent: ({ model }) => writers(model), rules: [write, ...liveRules] });
    expect(sequence(await stage.say("go"))).toBe("start ss text tis tia toa fs finish [DONE]");
    await stage.until(() => stage.gemini.live.open === 0);
    expect(sequence(await stage.say("hello"))).toBe(spoken);
    await expectWhole(stage);
  });

  it("is followed by the next agent, whose input does not go to the old connection", async () => {
    const stage = await openLiveStage({
      agent: ({ model, tools }) =>
        new SequentialAgent({
          name: "team",
          subAgents: [writers(model), new LlmAgent({ name: "editor", model: model(), instruction: "Edit.", tools })],
        }),
      rules: [
        { when: ({ system }) => system.includes("Edit."), say: [text("Edited."), call("task_completed", {})] },
        write,
        ...liveRules,
      ],
    });
    const reply = await stage.say("go");
    expect(textOf(reply)).toBe("Written.Edited.");
    expect(reply.chunks.at(-1)).toMatchObject({ type: "finish" });
    await stage.until(() => stage.gemini.live.open === 0);
    expect(stage.gemini.live.sessions).toHaveLength(2);
    await expectWhole(stage);
  });
});

describe.each(modes)("text that does not come from a model (live: $live)", (how) => {
  const closed: Content = { role: "model", parts: [{ text: "Closed today." }] };

  it("is the reply if it comes from a callback before the agent", async () => {
    const stage = await openLiveStage({
      agent: ({ model, tools }) =>
        new LlmAgent({ name: "root_agent", model: model(), tools, beforeAgentCallback: () => closed }),
    });
    for (const words of ["hello", "hello again"]) {
      const reply = await stage.say(words, how);
      expect(sequence(reply)).toBe(spoken);
      expect(textOf(reply)).toBe("Closed today.");
    }
    await expectWhole(stage);
  });

  it("is the reply if it comes from a plugin before the run", async () => {
    class Doorman extends BasePlugin {
      override async beforeRunCallback(): Promise<Content> {
        return closed;
      }
    }
    const stage = await openLiveStage({ bridge: { plugins: [new Doorman("doorman")] } });
    expect(textOf(await stage.say("hello", how))).toBe("Closed today.");
    await expectWhole(stage);
  });

  it("comes before the next agent's text if it comes from an agent of plain code", async () => {
    class Greeter extends BaseAgent {
      protected override async *runAsyncImpl({ invocationId }: InvocationContext): AsyncGenerator<Event, void, void> {
        yield createEvent({
          invocationId,
          author: this.name,
          content: { role: "model", parts: [{ text: "Welcome." }] },
        });
      }
      protected override runLiveImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
        return this.runAsyncImpl(context);
      }
    }
    const stage = await openLiveStage({
      agent: ({ model, tools }) =>
        new SequentialAgent({
          name: "team",
          subAgents: [
            new Greeter({ name: "greeter" }),
            new LlmAgent({ name: "clerk", model: model(), instruction: "Help.", tools }),
          ],
        }),
    });
    expect(textOf(await stage.say("hello", how))).toBe("Welcome.Hello there, friend.");
    await expectWhole(stage);
  });
});

describe.each(modes)("calls that do not come from a model (live: $live)", (how) => {
  /** An agent of plain code that shows a call with its result, and then speaks. */
  class Librarian extends BaseAgent {
    protected override async *runAsyncImpl({ invocationId }: InvocationContext): AsyncGenerator<Event, void, void> {
      const said = (content: Content) => createEvent({ invocationId, author: this.name, content });
      const looked = { id: `look-${invocationId}`, name: "look_up" };
      yield said({ role: "model", parts: [{ functionCall: { ...looked, args: {} } }] });
      yield said({ role: "user", parts: [{ functionResponse: { ...looked, response: { found: 1 } } }] });
      yield said({ role: "model", parts: [{ text: "Found." }] });
    }
    protected override runLiveImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
      return this.runAsyncImpl(context);
    }
  }

  it("are part of the reply of an agent of plain code", async () => {
    const stage = await openLiveStage({ agent: () => new Librarian({ name: "librarian" }) });
    for (const words of ["hello", "hello again"])
      expect(sequence(await stage.say(words, how))).toBe("start ss tis tia toa fs ss text fs finish [DONE]");
  });

  it("are part of the reply if an agent of plain code is the last of a sequence", async () => {
    const stage = await openLiveStage({
      agent: ({ model, tools }) =>
        new SequentialAgent({
          name: "team",
          subAgents: [
            new LlmAgent({ name: "clerk", model: model(), instruction: "Help.", tools }),
            new Librarian({ name: "librarian" }),
          ],
        }),
      rules: [{ when: /^go$/, say: [text("First."), ...(how.live ? [call("task_completed", {})] : [])] }, ...liveRules],
    });
    const reply = await stage.say("go", how);
    expect(textOf(reply)).toBe("First.Found.");
    expect(reply.chunks.at(-1)).toMatchObject({ type: "finish", finishReason: "stop" });
  });
});

describe.each(modes)("work that never ends (live: $live)", (how) => {
  it("is stopped if it never calls a model, does not block the event loop, and can be closed", async () => {
    const skipped = () => ({ role: "model", parts: [{ text: "Skipped." }] });
    const stage = await openLiveStage({
      agent: ({ model }) => {
        const writer = new LlmAgent({ name: "writer", model: model(), beforeAgentCallback: skipped });
        return new LoopAgent({ name: "loop", subAgents: [writer] });
      },
      bridge: { maxLlmCalls: 2 },
    });
    const reply = await stage.say("hello", how);
    const errorText = expect.stringMatching(/came to no end: more than \d+ events/);
    expect(reply.chunks.at(-1)).toEqual({ type: "error", errorText });
    await stage.bridge.close();
    expect(stage.gemini.live.sessions).toEqual([]);
  });

  it("can be stopped before the model is reached, and the next message gets a reply", async () => {
    const asked = gate();
    let isStuck = false;
    class Remote extends BaseToolset {
      override async getTools(): Promise<BaseTool[]> {
        if (isStuck) asked.open();
        return isStuck ? new Promise<never>(() => undefined) : [];
      }
      override async close(): Promise<void> {}
    }
    const stage = await openLiveStage({
      agent: ({ model }) => new LlmAgent({ name: "root_agent", model: model(), tools: [new Remote([])] }),
    });
    isStuck = true;
    const reading = stage.read(await stage.send({ type: "message", message: userMessage("first") }, how));
    await asked.opened;
    expect(await stage.stop()).toBe(true);
    expect((await reading).chunks.at(-1)).toEqual({ type: "abort" });
    expect(stage.gemini.requests).toEqual([]);
    isStuck = false;
    expect(sequence(await stage.say("hello", how))).toBe(spoken);
    const said = (await stage.messages()).filter(({ role }) => role === "user");
    expect(said).toHaveLength(2);
    await expectWhole(stage);
  });

  it.each(["quick", "process_payment"])(
    "in a tool is abandoned when new text comes, and the following call of %s neither runs nor asks",
    async (second) => {
      const [slow, story] = [gate(), gate()];
      const ran: string[] = [];
      const tool = (name: string, until?: Promise<void>) =>
        new FunctionTool({
          name,
          description: "Works.",
          parameters: z.object({}),
          execute: async () => {
            ran.push(name);
            await until;
            return { done: true };
          },
        });
      const args = second === "quick" ? {} : { amount: 50, recipient: "Hanako" };
      const stage = await openLiveStage({
        tools: [tool("slow", slow.opened), tool("quick")],
        rules: [
          { when: /^go$/, say: [call("slow", {}), call(second, args)] },
          { when: /^story$/, say: [text("Once. "), pause(story.opened), text("The end.")] },
          ...liveRules,
        ],
      });
      const first = stage.read(await stage.send({ type: "message", message: userMessage("go") }, how));
      await stage.until(() => ran.length === 1);
      const next = stage.say("story", how);
      await first;
      await stage.gemini.waitForRequest(2);
      slow.open();
      // Long enough for the old run to continue, if it did.
      for (let round = 0; round < 50; round++) await new Promise((resolve) => setImmediate(resolve));
      story.open();
      expect(sequence(await next)).toBe(spoken);
      expect(ran).toEqual(["slow"]);
      expect(await stage.rows()).toEqual([]);
      await expectWhole(stage);
    },
  );
});

describe.each(modes)("an error around a tool (live: $live)", (how) => {
  const withCallbacks = (callbacks: object): LiveStageOptions => ({
    agent: ({ model, tools }) => new LlmAgent({ name: "root_agent", model: model(), tools, ...callbacks }),
  });
  const fails = () => {
    throw new Error("The callback is broken.");
  };

  it("in a callback after a payment does not change the payment, which counts once", async () => {
    const stage = await openLiveStage(withCallbacks({ afterToolCallback: fails }));
    await stage.say("pay", how);
    const open = await stage.pending();
    const reply = await stage.answer(
      open.map(({ id }) => ({ id, approved: true })),
      how,
    );
    expect(sequence(reply)).toBe(goesOn);
    expect(textOf(reply)).toContain('{"paid":50}');
    expect((await stage.rows()).map(({ state }) => state)).toEqual(["succeeded"]);
    expect(stage.loggedErrors.join()).toContain("The callback is broken.");
    await expectWhole(stage);
  });

  it.each(["beforeToolCallback", "afterToolCallback"])(
    "in a %s settles the call, and the chat continues",
    async (name) => {
      const stage = await openLiveStage(withCallbacks({ [name]: fails }));
      const reply = await stage.say("weather", how);
      expect(sequence(reply)).toBe("start ss tis tia toe fs error [DONE]");
      expect([...stage.loggedErrors, ...stage.warnings].join()).toContain("The callback is broken.");
      expect(sequence(await stage.say("hello", how))).toBe(spoken);
      await expectWhole(stage);
    },
  );

  const cyclic: Record<string, unknown> = {};
  cyclic["self"] = cyclic;
  it.each([
    ["a number too large for JSON", { count: 10n }],
    ["cyclic", cyclic],
    ["a date", new Date(0)],
  ])("in the form of a result that is %s does not end the turn", async (_, result) => {
    const ran: string[] = [];
    const odd = new FunctionTool({
      name: "odd",
      description: "Counts.",
      parameters: z.object({}),
      execute: (__, context) => {
        ran.push("odd");
        context!.state.set("count", 10n);
        return result;
      },
    });
    const stage = await openLiveStage({
      tools: [odd],
      rules: [{ when: /^go$/, say: [call("odd", {})] }, ...liveRules],
    });
    const reply = await stage.say("go", how);
    expect(sequence(reply)).toBe("start ss tis tia toa fs ss text fs finish [DONE]");
    expect(ran).toHaveLength(1);
    expect(sequence(await stage.say("hello", how))).toBe(spoken);
    await expectWhole(stage);
  });
});
