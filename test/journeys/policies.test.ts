/** What the policies of the bridge ask about, for tools that are neither functions nor toolsets. */
import { AgentTool, FunctionTool, LlmAgent } from "@google/adk";
import { clientTool } from "adk-stream-protocol";
import { call, text, type Rule } from "adk-stream-protocol/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { liveRules, openLiveStage } from "../fixtures/live-stage.ts";
import { owner } from "../fixtures/mortal-process.ts";

const modes = [
  { mode: "by request", live: false },
  { mode: "live", live: true },
] as const;

const rules = (...more: Rule[]): readonly Rule[] => [
  ...more,
  { when: ({ responses }) => responses.length > 0, say: [text("So it is.")] },
  ...liveRules,
];

const notes = (ran: string[], name: string) =>
  new FunctionTool({
    name,
    description: "Takes a note.",
    parameters: z.object({}),
    execute: () => ({ notes: ran.push(name) }),
  });

describe.each(modes)('with unlisted: "confirm", $mode', ({ live }) => {
  it("a hand-over to another agent is free, and the tools of that agent are not", async () => {
    const ran: string[] = [];
    const stage = await openLiveStage({
      rules: [
        { when: ({ toolNames }) => toolNames.includes("note"), say: [call("note")] },
        { when: /^go$/, say: [call("transfer_to_agent", { agentName: "writer" })] },
        ...rules(),
      ],
      agent: ({ model }) =>
        new LlmAgent({
          name: "root_agent",
          model: model(),
          subAgents: [
            new LlmAgent({ name: "writer", description: "Writes.", model: model(), tools: [notes(ran, "note")] }),
          ],
        }),
      bridge: { unlisted: "confirm" },
    });
    await stage.say("go", { live });
    expect((await stage.pending()).map(({ toolName }) => toolName)).toEqual(["note"]);
    expect(ran).toEqual([]);
  });

  it("an agent that is run as a tool is asked about, unless it is named; its tools are in any case", async () => {
    const ran: string[] = [];
    const open = (tools: object) =>
      openLiveStage({
        rules: [
          {
            when: ({ toolNames, responses }) => toolNames.includes("note") && responses.length === 0,
            say: [call("note")],
          },
          ...rules({ when: /^go$/, say: [call("writer", { request: "note it" })] }),
        ],
        agent: ({ model }) => {
          const writer = new LlmAgent({
            ...{ name: "writer", description: "Writes.", model: model(), tools: [notes(ran, "note")] },
          });
          return new LlmAgent({ name: "root_agent", model: model(), tools: [new AgentTool({ agent: writer })] });
        },
        bridge: { unlisted: "confirm", tools: { ...tools } },
      });
    const strict = await open({});
    await strict.say("go", { live });
    expect((await strict.pending()).map(({ toolName }) => toolName)).toEqual(["writer"]);
    const named = await open({ writer: {} });
    await named.say("go", { live });
    expect((await named.pending()).map(({ toolName }) => toolName)).toEqual(["note"]);
    expect(ran).toEqual([]);
  });

  it("a browser tool is asked about", async () => {
    const locate = clientTool({ name: "locate", description: "Where the user is.", parameters: z.object({}) });
    const stage = await openLiveStage({
      rules: rules({ when: /^go$/, say: [call("locate")] }),
      tools: [locate],
      bridge: { unlisted: "confirm" },
    });
    await stage.say("go", { live });
    expect((await stage.pending()).map(({ toolName }) => toolName)).toEqual(["locate"]);
  });
});

describe.each(modes)("a predicate, $mode,", ({ live }) => {
  it("sees the state that tools have set, and cannot change it", async () => {
    const seen: unknown[] = [];
    const stage = await openLiveStage({
      rules: rules(
        { when: /^pay$/, say: [call("process_payment", { amount: 5, recipient: "Hanako" })] },
        { when: /^who$/, say: [call("last_paid")] },
      ),
      bridge: {
        tools: {
          last_paid: {
            confirm: (_args, context) => {
              seen.push(structuredClone(context));
              Object.assign(context.state, { lastPaid: "Mallory" });
              return false;
            },
          },
        },
      },
    });
    await stage.say("pay", { live });
    const answers = (await stage.pending()).map(({ id }) => ({ id, approved: true }));
    await stage.answer(answers, { live });
    await stage.say("who", { live });
    expect(seen).toEqual([{ tool: "last_paid", owner, actor: owner, state: { lastPaid: "Hanako" } }]);
    const outputs = (await stage.messages()).flatMap(({ parts }) => parts).filter((part) => "output" in part);
    expect(outputs.at(-1)).toMatchObject({ output: { last: "Hanako" } });
  });
});
