/** Approval for tools of other agents than the root: sub-agents, sequences, and agents that are run as tools. */
import {
  AgentTool,
  type BaseAgent,
  type BaseTool,
  FunctionTool,
  LlmAgent,
  LoopAgent,
  ParallelAgent,
  SequentialAgent,
} from "@google/adk";
import { isSettled } from "adk-stream-protocol/protocol";
import { call, fail, type Piece, type Rule, text, usage } from "adk-stream-protocol/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { expectSound } from "../fixtures/sound.ts";
import { majors, stockChat, validateOn } from "../fixtures/stock-chat.ts";
import {
  answer,
  asked,
  get,
  idle,
  openWorld,
  post,
  type Received,
  say,
  sequence,
  states,
  textOf,
  type World,
  type WorldOptions,
} from "../fixtures/world.ts";

type Model = Parameters<NonNullable<WorldOptions["agent"]>>[0]["model"];

/** What an agent's model says, first and after the responses of its tools. */
interface Script {
  first: readonly Piece[] | ((words: string) => readonly Piece[]);
  last?: readonly Piece[];
}

/** A world in which the model of each agent follows its own script. The agent's name in the instruction selects it. */
async function openTeam(
  scripts: Record<string, Script>,
  build: (model: Model, ran: string[]) => BaseAgent,
  bridge?: WorldOptions["bridge"],
) {
  const ran: string[] = [];
  const rules = Object.entries(scripts).flatMap(([name, { first, last = [text(`${name} is done.`)] }]): Rule[] => [
    { when: ({ system, responses }) => isFor(name, system) && responses.length > 0, say: last },
    {
      when: ({ system }) => isFor(name, system),
      say: ({ text: words }) => (typeof first === "function" ? first(words) : first),
    },
  ]);
  const world = await openWorld({ rules, agent: ({ model }) => build(model, ran), ...(bridge && { bridge }) });
  return {
    world,
    ran,
    names: () => world.gemini.requests.map(({ system }) => Object.keys(scripts).find((name) => isFor(name, system))),
  };
}

const isFor = (name: string, system: string): boolean => system.includes(`Your internal name is "${name}"`);

function payTool(ran: string[], name = "pay", requireConfirmation = true): BaseTool {
  return new FunctionTool({
    name,
    description: "Pays.",
    requireConfirmation,
    parameters: z.object({ amount: z.number() }),
    execute: ({ amount }, context) => {
      ran.push(`${name} ${amount}`);
      context?.state.set("lastPaid", amount);
      return { paid: amount };
    },
  });
}

const yes = (world: World, question: Received, toolName = "pay", index = 0) =>
  answer(world, [{ ...asked(question, index), approved: true, toolName }]);
const no = (world: World, question: Received, toolName = "pay", index = 0) =>
  answer(world, [{ ...asked(question, index), approved: false, toolName }]);

const rowsOf = async (world: World): Promise<string[]> =>
  (await world.store.listApprovals({})).map(({ toolName, state }) => `${toolName} ${state}`);
const toolNames = ({ chunks }: Received): string[] =>
  chunks.flatMap((chunk) => (chunk.type === "tool-input-available" ? [chunk.toolName] : []));
/** The function responses in the last request to the model. */
const told = (world: World) => world.gemini.requests.at(-1)!.responses.map(({ name, response }) => [name, response]);

const asksOnce = "start ss tis tia tar fs finish [DONE]";
const goesOn = "start toa ss text fs finish [DONE]";

/** Checks that both AI SDK majors can read all replies from the first chunk to the last. */
async function expectReadable(...replies: Received[]): Promise<void> {
  for (const [, ai] of majors) {
    let message: Awaited<ReturnType<typeof validateOn>> | undefined;
    for (const { chunks } of replies) {
      const answered = message && { ...message, parts: message.parts.map(settledBy(chunks)) };
      message = await validateOn(ai, chunks, answered as typeof message);
    }
  }
}

/** Adds the client's own answer to the part, as the client does before it sends the message. */
function settledBy(chunks: Received["chunks"]) {
  return (part: { type: string; toolCallId?: string; state?: string; approval?: object }) => {
    if (part.state !== "approval-requested") return part;
    const outcome = chunks.find((chunk) => "toolCallId" in chunk && chunk.toolCallId === part.toolCallId);
    if (!outcome) return part;
    return {
      ...part,
      state: "approval-responded",
      approval: { ...part.approval, approved: outcome.type !== "tool-output-denied" },
    };
  };
}

describe("a sub-agent that the root transfers to", () => {
  const open = () =>
    openTeam(
      {
        root_agent: { first: [call("transfer_to_agent", { agentName: "clerk" })] },
        clerk: {
          first: (words) => (words === "pay" ? [call("pay", { amount: 7 })] : [text("Hello, I am the clerk.")]),
        },
      },
      (model, ran) =>
        new LlmAgent({
          name: "root_agent",
          model: model(),
          subAgents: [new LlmAgent({ name: "clerk", description: "Pays.", model: model(), tools: [payTool(ran)] })],
        }),
    );
  const handsOver = "start ss tis tia toa fs ss tis tia tar fs finish [DONE]";

  it("asks in its own step, and no model is called meanwhile", async () => {
    const { world, ran, names } = await open();
    const question = await say(world, "pay");
    expect(sequence(question)).toBe(handsOver);
    expect(toolNames(question)).toEqual(["transfer_to_agent", "pay"]);
    expect(names()).toEqual(["root_agent", "clerk"]);
    expect(ran).toEqual([]);
    await expectReadable(question);
    await expectSound(world);
  });

  it("pays after a yes and continues the reply itself", async () => {
    const { world, ran, names } = await open();
    const question = await say(world, "pay");
    const reply = await yes(world, question);
    expect(sequence(reply)).toBe(goesOn);
    expect(textOf(reply)).toBe("clerk is done.");
    expect(ran).toEqual(["pay 7"]);
    expect(names()).toEqual(["root_agent", "clerk", "clerk"]);
    await expectReadable(question, reply);
    await expectSound(world);
  });

  it("pays nothing after a no and continues the reply itself", async () => {
    const { world, ran, names } = await open();
    const question = await say(world, "pay");
    const reply = await no(world, question);
    expect(sequence(reply)).toBe("start tod ss text fs finish [DONE]");
    expect(ran).toEqual([]);
    expect(names()).toEqual(["root_agent", "clerk", "clerk"]);
    expect(told(world)).toEqual([["pay", { error: expect.stringContaining("rejected"), status: "denied" }]]);
    await expectSound(world);
  });

  it("continues the reply itself also after a restart", async () => {
    const { world, ran, names } = await open();
    const question = await say(world, "pay");
    await world.restart();
    expect(sequence(await yes(world, question))).toBe(goesOn);
    expect(ran).toEqual(["pay 7"]);
    expect(names()).toEqual(["root_agent", "clerk", "clerk"]);
    await expectSound(world);
  });

  it("answers new text, which cancels its question", async () => {
    const { world, ran, names } = await open();
    const question = await say(world, "pay");
    const reply = await say(world, "who are you?");
    expect(sequence(reply)).toBe("start ss text fs finish [DONE]");
    expect(states(reply)).toEqual(["cancelled"]);
    expect(names()).toEqual(["root_agent", "clerk", "clerk"]);
    const late = await yes(world, question);
    expect(states(late).at(-1)).toBe("cancelled");
    expect(ran).toEqual([]);
    await expectSound(world);
  });

  it("needs no additional model calls without a gated tool", async () => {
    const { world, names } = await openTeam(
      {
        root_agent: { first: [call("transfer_to_agent", { agentName: "clerk" })] },
        clerk: { first: [call("pay", { amount: 7 })] },
      },
      (model, ran) =>
        new LlmAgent({
          name: "root_agent",
          model: model(),
          subAgents: [
            new LlmAgent({ name: "clerk", description: "Pays.", model: model(), tools: [payTool(ran, "pay", false)] }),
          ],
        }),
    );
    expect(sequence(await say(world, "pay"))).toBe(
      "start ss tis tia toa fs ss tis tia toa fs ss text fs finish [DONE]",
    );
    expect(names()).toEqual(["root_agent", "clerk", "clerk"]);
    await expectSound(world);
  });

  it("counts the tokens of every model call once", async () => {
    const counted = (promptTokenCount: number, candidatesTokenCount: number): Piece =>
      usage({ promptTokenCount, candidatesTokenCount, totalTokenCount: promptTokenCount + candidatesTokenCount });
    const { world } = await openTeam(
      {
        root_agent: { first: [call("transfer_to_agent", { agentName: "clerk" }), counted(100, 1)] },
        clerk: { first: [call("pay", { amount: 7 }), counted(200, 2)], last: [text("Paid."), counted(300, 3)] },
      },
      (model, ran) =>
        new LlmAgent({
          name: "root_agent",
          model: model(),
          subAgents: [
            new LlmAgent({ name: "clerk", description: "Pays.", model: model(), tools: [payTool(ran, "pay", false)] }),
          ],
        }),
    );
    expect(usageOf(await say(world, "pay"))).toMatchObject({ inputTokens: 600, outputTokens: 6, totalTokens: 606 });
  });
});

describe("a sequence of agents", () => {
  const open = (gated: readonly string[]) =>
    openTeam(
      {
        first: { first: gated.includes("first") ? [call("pay", { amount: 1 })] : [text("first has nothing to do.")] },
        second: {
          first: gated.includes("second") ? [call("pay", { amount: 2 })] : [text("second has nothing to do.")],
        },
      },
      (model, ran) =>
        new SequentialAgent({
          name: "root_agent",
          subAgents: ["first", "second"].map((name) => new LlmAgent({ name, model: model(), tools: [payTool(ran)] })),
        }),
    );

  it("waits when the first agent asks, then continues with the second", async () => {
    const { world, ran, names } = await open(["first"]);
    const question = await say(world, "pay");
    expect(sequence(question)).toBe(asksOnce);
    expect(names()).toEqual(["first"]);
    const reply = await yes(world, question);
    expect(sequence(reply)).toBe("start toa ss text fs ss text fs finish [DONE]");
    expect(textOf(reply)).toBe("first is done.second has nothing to do.");
    expect(ran).toEqual(["pay 1"]);
    expect(names()).toEqual(["first", "first", "second"]);
    await expectReadable(question, reply);
    await expectSound(world);
  });

  it("waits when the second agent asks", async () => {
    const { world, ran, names } = await open(["second"]);
    const question = await say(world, "pay");
    expect(sequence(question)).toBe("start ss text fs ss tis tia tar fs finish [DONE]");
    const reply = await yes(world, question);
    expect(sequence(reply)).toBe(goesOn);
    expect(ran).toEqual(["pay 2"]);
    expect(names()).toEqual(["first", "second", "second"]);
    await expectSound(world);
  });

  it("waits at both agents, one after the other, also across restarts", async () => {
    const { world, ran, names } = await open(["first", "second"]);
    const question = await say(world, "pay");
    await world.restart();
    const next = await yes(world, question);
    expect(sequence(next)).toBe("start toa ss text fs ss tis tia tar fs finish [DONE]");
    expect(ran).toEqual(["pay 1"]);
    await world.restart();
    const reply = await no(world, next);
    expect(sequence(reply)).toBe("start tod ss text fs finish [DONE]");
    expect(ran).toEqual(["pay 1"]);
    expect(names()).toEqual(["first", "first", "second", "second"]);
    await expectSound(world);
  });

  it("starts again from the beginning when new text comes while it waits", async () => {
    const { world, ran } = await open(["second"]);
    await say(world, "pay");
    const reply = await say(world, "never mind");
    expect(states(reply)[0]).toBe("cancelled");
    expect(ran).toEqual([]);
    await expectSound(world);
  });
});

describe("an agent run as a tool", () => {
  const helperOf = (model: Model, tools: BaseTool[]) =>
    new LlmAgent({ name: "helper", description: "Helps.", model: model(), tools });
  const withHelper = (model: Model, tools: BaseTool[], more: BaseTool[] = []) =>
    new LlmAgent({
      name: "root_agent",
      model: model(),
      tools: [new AgentTool({ agent: helperOf(model, tools) }), ...more],
    });
  const asks: Record<string, Script> = {
    root_agent: { first: (words) => (words === "pay" ? [call("helper", { request: "Pay 7." })] : [text("Hello.")]) },
    helper: { first: [call("pay", { amount: 7 })] },
  };
  const open = (parts = asks) => openTeam(parts, (model, ran) => withHelper(model, [payTool(ran)]));

  it("is shown with its result like any other tool if nothing is gated", async () => {
    const { world, ran, names } = await openTeam(asks, (model, list) =>
      withHelper(model, [payTool(list, "pay", false)]),
    );
    const reply = await say(world, "pay");
    expect(sequence(reply)).toBe("start ss tis tia toa tis tia toa fs ss text fs finish [DONE]");
    expect(toolNames(reply)).toEqual(["pay", "helper"]);
    expect(textOf(reply)).toBe("root_agent is done.");
    expect(ran).toEqual(["pay 7"]);
    expect(names()).toEqual(["root_agent", "helper", "helper", "root_agent"]);
    expect(told(world)).toEqual([["helper", { result: "helper is done." }]]);
    await expectReadable(reply);
    const { log } = await expectSound(world);
    await world.restart();
    await world.bridge.sweep();
    expect((await expectSound(world)).log).toEqual(log);
  });

  it("gets the caller's text as its request", async () => {
    const { world } = await open();
    await say(world, "pay");
    expect(world.gemini.requests[1]?.text).toBe("Pay 7.");
  });

  it("asks about its inner call in the step, and appears itself only with its outcome", async () => {
    const { world, ran, names } = await open();
    const question = await say(world, "pay");
    expect(sequence(question)).toBe(asksOnce);
    expect(toolNames(question)).toEqual(["pay"]);
    expect(names()).toEqual(["root_agent", "helper"]);
    expect(ran).toEqual([]);

    const reply = await yes(world, question);
    expect(sequence(reply)).toBe("start toa ss tis tia toa fs ss text fs finish [DONE]");
    expect(toolNames(reply)).toEqual(["helper"]);
    expect(textOf(reply)).toBe("root_agent is done.");
    expect(ran).toEqual(["pay 7"]);
    expect(names()).toEqual(["root_agent", "helper", "helper", "root_agent"]);
    expect(told(world)).toEqual([["helper", { result: "helper is done." }]]);
    await expectReadable(question, reply);
    await expectSound(world);
  });

  it("pays nothing after a no, and both agents are told", async () => {
    const { world, ran } = await open({
      ...asks,
      helper: { first: [call("pay", { amount: 7 })], last: [text("They said no.")] },
    });
    const question = await say(world, "pay");
    const reply = await no(world, question);
    expect(sequence(reply)).toBe("start tod ss tis tia toa fs ss text fs finish [DONE]");
    expect(ran).toEqual([]);
    expect(world.gemini.requests[2]?.responses).toMatchObject([{ name: "pay", response: { status: "denied" } }]);
    expect(told(world)).toEqual([["helper", { result: "They said no." }]]);
    await expectReadable(question, reply);
    await expectSound(world);
  });

  it("continues after a restart", async () => {
    const { world, ran, names } = await open();
    const question = await say(world, "pay");
    await world.restart();
    const reply = await yes(world, question);
    expect(sequence(reply)).toBe("start toa ss tis tia toa fs ss text fs finish [DONE]");
    expect(ran).toEqual(["pay 7"]);
    expect(names()).toEqual(["root_agent", "helper", "helper", "root_agent"]);
    await expectSound(world);
  });

  it("continues by itself when the answer comes outside the chat", async () => {
    const { world, ran } = await open();
    const question = await say(world, "pay");
    await post(world, `/approvals/${asked(question).approvalId}`, { approved: true });
    await idle(world);
    expect(ran).toEqual(["pay 7"]);
    const { body } = await get(world, "/stream/chat-1/messages");
    expect(
      body.messages
        .at(-1)
        .parts.map(({ type }: { type: string }) => type)
        .filter((type: string) => type !== "data-approval"),
    ).toEqual(["step-start", "tool-pay", "step-start", "tool-helper", "step-start", "text"]);
    await expectSound(world);
  });

  it("is told that its call expired, and continues", async () => {
    const { world, ran } = await open();
    await say(world, "pay");
    world.clock.now += 15 * 60_000;
    await world.bridge.sweep();
    await idle(world);
    expect(ran).toEqual([]);
    expect(world.gemini.requests[2]?.responses).toMatchObject([{ name: "pay", response: { status: "expired" } }]);
    expect(told(world)).toEqual([["helper", { result: "helper is done." }]]);
    expect(await rowsOf(world)).toEqual(["helper succeeded", "pay expired"]);
    await expectSound(world);
  });

  it("is cancelled by new text together with its question", async () => {
    const { world, ran, names } = await open();
    const question = await say(world, "pay");
    const reply = await say(world, "never mind");
    expect(sequence(reply)).toBe("start ss text fs finish [DONE]");
    expect(states(reply)).toEqual(["cancelled"]);
    expect(await rowsOf(world)).toEqual(["helper cancelled", "pay cancelled"]);
    expect(names()).toEqual(["root_agent", "helper", "root_agent"]);
    expect(states(await yes(world, question)).at(-1)).toBe("cancelled");
    expect(ran).toEqual([]);
    const { log } = await expectSound(world);
    await world.restart();
    await world.bridge.sweep();
    expect((await expectSound(world)).log).toEqual(log);
  });

  for (const [name, ai] of majors)
    it(`needs two requests and one message with ${name}`, async () => {
      const { world, ran } = await open();
      const { chat, requests, settled, errors } = stockChat(ai, world);
      await chat.sendMessage({ text: "pay" });
      const part = (await settled()).at(-1)!.parts.find(({ type }) => type === "tool-pay") as unknown as {
        approval: { id: string };
      };
      await chat.addToolApprovalResponse({ id: part.approval.id, approved: true });
      const messages = await settled();
      expect(errors).toEqual([]);
      expect(requests).toHaveLength(2);
      expect(messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
      expect(ran).toEqual(["pay 7"]);
      await ai.validateUIMessages({ messages });
    });

  it("asks about each of its calls when there are several, and waits for all", async () => {
    const { world, ran, names } = await open({
      ...asks,
      helper: { first: [call("pay", { amount: 7 }), call("pay", { amount: 8 })] },
    });
    const question = await say(world, "pay");
    expect(sequence(question)).toBe("start ss tis tia tis tia tar tar fs finish [DONE]");
    const half = await yes(world, question, "pay", 1);
    expect(sequence(half)).toBe("start toa finish [DONE]");
    expect(names()).toEqual(["root_agent", "helper"]);
    const reply = await no(world, question, "pay", 0);
    expect(sequence(reply)).toBe("start tod ss tis tia toa fs ss text fs finish [DONE]");
    expect(ran).toEqual(["pay 8"]);
    await expectSound(world);
  });

  it("runs twice if it is called twice in one step, each time with its own question and result", async () => {
    const parts: Record<string, Script> = {
      root_agent: { first: [call("helper", { request: "Pay 1." }), call("helper", { request: "Pay 2." })] },
      helper: { first: (words) => [call("pay", { amount: Number(/\d/.exec(words)?.[0]) })] },
    };
    const { world, ran, names } = await open(parts);
    const question = await say(world, "pay");
    expect(sequence(question)).toBe("start ss tis tia tar tis tia tar fs finish [DONE]");
    expect(names()).toEqual(["root_agent", "helper", "helper"]);
    const half = await yes(world, question, "pay", 0);
    expect(ran).toEqual(["pay 1"]);
    expect(sequence(half)).toBe("start toa ss tis tia toa fs finish [DONE]");
    expect(names()).toEqual(["root_agent", "helper", "helper", "helper"]);
    const reply = await no(world, question, "pay", 1);
    expect(sequence(reply)).toBe("start tod ss tis tia toa fs ss text fs finish [DONE]");
    expect(ran).toEqual(["pay 1"]);
    expect(world.gemini.requests.at(-1)?.responses).toHaveLength(2);
    await expectSound(world);
  });

  for (const gatedInside of [true, false])
    it(`shares its caller's step with another gated call${gatedInside ? ", and both ask" : ""}`, async () => {
      const parts: Record<string, Script> = {
        root_agent: { first: [call("helper", { request: "Pay 7." }), call("pay", { amount: 5 })] },
        helper: { first: [call("pay", { amount: 7 })] },
      };
      const { world, ran } = await openTeam(parts, (model, list) =>
        withHelper(model, [payTool(list, "pay", gatedInside)], [payTool(list)]),
      );
      const { chat, requests, settled, errors } = stockChat(majors[0][1], world);
      await chat.sendMessage({ text: "pay" });
      const cards = (await settled()).at(-1)!.parts.filter((part) => "approval" in part && part.approval) as {
        approval: { id: string };
      }[];
      expect(cards).toHaveLength(gatedInside ? 2 : 1);
      expect((await settled()).at(-1)!.parts.filter(({ type }) => type === "step-start")).toHaveLength(1);
      expect(ran).toEqual(gatedInside ? [] : ["pay 7"]);
      for (const { approval } of cards) await chat.addToolApprovalResponse({ id: approval.id, approved: true });
      await settled();
      expect(errors).toEqual([]);
      expect(requests).toHaveLength(2);
      expect(ran.toSorted()).toEqual(["pay 5", "pay 7"]);
      expect(told(world)).toEqual([
        ["helper", { result: "helper is done." }],
        ["pay", { paid: 5 }],
      ]);
      await expectSound(world);
    });

  it("can be gated itself, and then does not start before a yes", async () => {
    const { world, ran, names } = await openTeam(asks, (model, list) => withHelper(model, [payTool(list)]), {
      tools: { helper: { confirm: true } },
    });
    const question = await say(world, "pay");
    expect(sequence(question)).toBe(asksOnce);
    expect(toolNames(question)).toEqual(["helper"]);
    expect(names()).toEqual(["root_agent"]);

    const next = await yes(world, question, "helper");
    expect(toolNames(next)).toEqual(["pay"]);
    expect(names()).toEqual(["root_agent", "helper"]);
    expect(ran).toEqual([]);
    const reply = await yes(world, next, "pay");
    expect(sequence(reply)).toBe("start toa toa ss text fs finish [DONE]");
    expect(ran).toEqual(["pay 7"]);
    expect(names()).toEqual(["root_agent", "helper", "helper", "root_agent"]);
    await expectSound(world);
  });

  it("is not run after a no to itself", async () => {
    const { world, ran, names } = await openTeam(asks, (model, list) => withHelper(model, [payTool(list)]), {
      tools: { helper: { confirm: true } },
    });
    const reply = await no(world, await say(world, "pay"), "helper");
    expect(sequence(reply)).toBe("start tod ss text fs finish [DONE]");
    expect(names()).toEqual(["root_agent", "root_agent"]);
    expect(ran).toEqual([]);
    await expectSound(world);
  });

  it("keeps the agent that called it as a tool waiting too", async () => {
    const parts: Record<string, Script> = {
      root_agent: {
        first: (words) => (words === "pay" ? [call("manager", { request: "Have 7 paid." })] : [text("Hello.")]),
      },
      manager: { first: [call("helper", { request: "Pay 7." })] },
      helper: { first: [call("pay", { amount: 7 })] },
    };
    const { world, ran, names } = await openTeam(parts, (model, list) => {
      const manager = new LlmAgent({
        name: "manager",
        description: "Manages.",
        model: model(),
        tools: [new AgentTool({ agent: helperOf(model, [payTool(list)]) })],
      });
      return new LlmAgent({ name: "root_agent", model: model(), tools: [new AgentTool({ agent: manager })] });
    });
    const question = await say(world, "pay");
    expect(sequence(question)).toBe(asksOnce);
    expect(names()).toEqual(["root_agent", "manager", "helper"]);
    await world.restart();
    const reply = await yes(world, question);
    expect(sequence(reply)).toBe("start toa ss tis tia toa fs ss tis tia toa fs ss text fs finish [DONE]");
    expect(toolNames(reply)).toEqual(["helper", "manager"]);
    expect(ran).toEqual(["pay 7"]);
    expect(names()).toEqual(["root_agent", "manager", "helper", "helper", "manager", "root_agent"]);
    await expectReadable(question, reply);
    await expectSound(world);
  });

  it("is cancelled by new text together with the agent that called it as a tool", async () => {
    const parts: Record<string, Script> = {
      root_agent: {
        first: (words) => (words === "pay" ? [call("manager", { request: "Have 7 paid." })] : [text("Hello.")]),
      },
      manager: { first: [call("helper", { request: "Pay 7." })] },
      helper: { first: [call("pay", { amount: 7 })] },
    };
    const { world, ran } = await openTeam(parts, (model, list) => {
      const manager = new LlmAgent({
        name: "manager",
        description: "Manages.",
        model: model(),
        tools: [new AgentTool({ agent: helperOf(model, [payTool(list)]) })],
      });
      return new LlmAgent({ name: "root_agent", model: model(), tools: [new AgentTool({ agent: manager })] });
    });
    await say(world, "pay");
    await say(world, "never mind");
    expect(await rowsOf(world)).toEqual(["manager cancelled", "helper cancelled", "pay cancelled"]);
    expect(ran).toEqual([]);
    await expectSound(world);
  });

  it("can use the same call ids as its caller", async () => {
    const parts: Record<string, Script> = {
      root_agent: {
        first: [call("helper", { request: "Pay 1." }, { id: "fc-1" }), call("pay", { amount: 5 }, { id: "fc-2" })],
      },
      helper: { first: [call("pay", { amount: 1 }, { id: "fc-2" })] },
    };
    const { world, ran } = await openTeam(parts, (model, list) => withHelper(model, [payTool(list)], [payTool(list)]));
    const question = await say(world, "pay");
    const ids = [asked(question, 0).toolCallId, asked(question, 1).toolCallId];
    expect(new Set(ids).size).toBe(2);
    await answer(world, [
      { ...asked(question, 0), approved: true, toolName: "pay" },
      { ...asked(question, 1), approved: true, toolName: "pay" },
    ]);
    await idle(world);
    expect(ran.toSorted()).toEqual(["pay 1", "pay 5"]);
    expect((await world.store.listApprovals({})).every(({ state }) => isSettled(state))).toBe(true);
    await expectSound(world);
  });

  it("passes its changes of the state to its caller", async () => {
    for (const gated of [true, false]) {
      const { world } = await openTeam(asks, (model, list) => withHelper(model, [payTool(list, "pay", gated)]));
      const question = await say(world, "pay");
      if (gated) await yes(world, question);
      expect((await world.store.findChat("local", "chat-1", "root_agent"))?.state).toEqual({ lastPaid: 7 });
    }
  });

  it("is shown as a failed tool when it fails, and its caller continues", async () => {
    const { world } = await open({ ...asks, helper: { first: [fail(429, "Slow down.")] } });
    const reply = await say(world, "pay");
    expect(sequence(reply)).toBe("start ss tis tia toe fs ss text fs finish [DONE]");
    expect(told(world)).toEqual([["helper", { error: expect.stringContaining("Slow down."), status: "failed" }]]);
    await expectSound(world);
  });

  it("counts its tokens with its caller's", async () => {
    const counted = (promptTokenCount: number): Piece =>
      usage({ promptTokenCount, candidatesTokenCount: 1, totalTokenCount: promptTokenCount + 1 });
    const { world } = await openTeam(
      {
        root_agent: { first: [call("helper", { request: "Pay." }), counted(100)], last: [text("Done."), counted(400)] },
        helper: { first: [call("pay", { amount: 7 }), counted(200)], last: [text("Paid."), counted(300)] },
      },
      (model, ran) => withHelper(model, [payTool(ran, "pay", false)]),
    );
    expect(usageOf(await say(world, "pay"))).toMatchObject({ inputTokens: 1000, outputTokens: 4, totalTokens: 1004 });
  });

  it("can be a sequence of agents", async () => {
    const parts: Record<string, Script> = {
      root_agent: { first: [call("team", { request: "Pay." })] },
      first: { first: [call("pay", { amount: 1 })] },
      second: { first: [text("All done.")] },
    };
    const { world, ran, names } = await openTeam(parts, (model, list) => {
      const team = new SequentialAgent({
        name: "team",
        description: "A team.",
        subAgents: ["first", "second"].map((name) => new LlmAgent({ name, model: model(), tools: [payTool(list)] })),
      });
      return new LlmAgent({ name: "root_agent", model: model(), tools: [new AgentTool({ agent: team })] });
    });
    const question = await say(world, "pay");
    expect(sequence(question)).toBe(asksOnce);
    const reply = await yes(world, question);
    expect(sequence(reply)).toBe("start toa ss tis tia toa fs ss text fs finish [DONE]");
    expect(told(world)).toEqual([["team", { result: "All done." }]]);
    expect(ran).toEqual(["pay 1"]);
    expect(names()).toEqual(["root_agent", "first", "first", "second", "root_agent"]);
    await expectSound(world);
  });
});

describe("agents that ADK will replace by workflows", () => {
  it("loop agent: the loop ends when a call is held, and the agent that asked continues", async () => {
    const { world, ran, names } = await openTeam(
      { worker: { first: [call("pay", { amount: 1 })] } },
      (model, list) =>
        new LoopAgent({
          name: "root_agent",
          subAgents: [new LlmAgent({ name: "worker", model: model(), tools: [payTool(list)] })],
        }),
    );
    const question = await say(world, "pay");
    expect(sequence(question)).toBe(asksOnce);
    expect(ran).toEqual([]);
    const reply = await yes(world, question);
    expect(sequence(reply)).toBe(goesOn);
    expect(ran).toEqual(["pay 1"]);
    expect(names()).toEqual(["worker", "worker"]);
    await expectSound(world);
  });

  it("parallel agent: no gated tool runs without a yes", async () => {
    const { world, ran } = await openTeam(
      { left: { first: [call("pay", { amount: 1 })] }, right: { first: [call("pay", { amount: 2 })] } },
      (model, list) =>
        new ParallelAgent({
          name: "root_agent",
          subAgents: ["left", "right"].map((name) => new LlmAgent({ name, model: model(), tools: [payTool(list)] })),
        }),
    );
    const question = await say(world, "pay");
    expect(ran).toEqual([]);
    const count = question.chunks.filter(({ type }) => type === "tool-approval-request").length;
    for (let index = 0; index < count; index++) await no(world, question, "pay", index);
    expect(ran).toEqual([]);
    expect(world.gemini.requests.flatMap(({ pairingErrors }) => pairingErrors)).toEqual([]);
  });
});

function usageOf({ chunks }: Received): object | undefined {
  const finish = chunks.find((chunk) => chunk.type === "finish");
  return (finish?.messageMetadata as { usage?: object } | undefined)?.usage;
}
