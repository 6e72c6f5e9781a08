import { BaseTool, LlmAgent, type RunAsyncToolRequest } from "@google/adk";
import { call, text } from "adk-stream-protocol/testing";
import { describe, expect, it } from "vitest";
import { holdTimers } from "../fixtures/hold-timers.ts";
import { ListedToolset } from "../fixtures/listed-toolset.ts";
import { openLiveStage } from "../fixtures/live-stage.ts";
import { expectSound } from "../fixtures/sound.ts";
import { storeKinds } from "../fixtures/store-kinds.ts";

/** A tool as plain JavaScript may have it. */
class OddTool extends BaseTool {
  readonly runs: unknown[] = [];
  readonly #result: unknown;
  constructor(name: string, result: unknown) {
    super({ name, description: "Works." });
    this.#result = result;
  }
  override _getDeclaration() {
    return { name: this.name, description: this.description };
  }
  override runAsync({ args }: RunAsyncToolRequest): Promise<unknown> {
    this.runs.push(args);
    // In plain JavaScript a tool need not return a promise.
    return this.#result as Promise<unknown>;
  }
}

const rules = (name: string) => [
  { when: ({ responses }: { responses: readonly unknown[] }) => responses.length > 0, say: [text("Done.")] },
  { when: /go/, say: [call(name, { a: 1 })] },
  { say: [text("Hello.")] },
];

for (const live of [false, true])
  for (const { name: kind, options } of storeKinds)
    describe(`odd tools, ${live ? "live" : "by request"}, on ${kind}`, () => {
      it("X15: a gated tool that returns a value and no promise has succeeded", async () => {
        const tool = new OddTool("work", { ok: 1 });
        const stage = await openLiveStage({
          ...options(),
          rules: rules("work"),
          tools: [tool],
          bridge: { tools: { work: { confirm: true } } },
        });
        await stage.say("go", { live });
        await stage.answer([{ id: (await stage.pending())[0]?.id ?? "", approved: true }], { live });
        await stage.untilIdle();
        expect(await stage.rows()).toMatchObject([{ state: "succeeded", outcome: { ok: 1 } }]);
        expect(tool.runs).toEqual([{ a: 1 }]);
        await expectSound(stage);
      });

      it("X21: a gated tool with an MCP error has failed", async () => {
        const tool = new OddTool("work", { isError: true, content: [{ type: "text", text: "no such file" }] });
        const stage = await openLiveStage({
          ...options(),
          rules: rules("work"),
          tools: [tool],
          bridge: { tools: { work: { confirm: true } } },
        });
        await stage.say("go", { live });
        await stage.answer([{ id: (await stage.pending())[0]?.id ?? "", approved: true }], { live });
        await stage.untilIdle();
        expect(await stage.rows()).toMatchObject([{ state: "failed", outcome: { error: "no such file" } }]);
        await expectSound(stage);
      });

      it("X16: a tool with a name that ADK uses itself is not run, and the chat goes on", async () => {
        const tool = new OddTool("adk_request_money", { ok: 1 });
        const stage = await openLiveStage({
          ...options(),
          rules: rules("adk_request_money"),
          agent: ({ model, tools }) =>
            new LlmAgent({
              name: "root_agent",
              model: model(),
              tools: [...tools, new ListedToolset(async () => [tool])],
            }),
        });
        const limits = holdTimers(5000);
        const reply = stage.say("go", { live }).catch(() => undefined);
        if (live) {
          // The model might say more after a call that is not made.
          await stage.until(() => limits.running() > 0);
          limits.pass();
        }
        await reply;
        await stage.untilIdle();
        expect(tool.runs).toEqual([]);
        await stage.say("hello", { live });
        await expectSound(stage);
      });
    });
