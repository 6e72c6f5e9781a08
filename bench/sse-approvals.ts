/** Approvals over HTTP: the time from sending the approval to the start of the tool, and to its output in the reply. */
import { performance } from "node:perf_hooks";
import type { UIMessageChunk } from "ai";
import { approvalAnswer } from "./approval-answer.ts";
import { median, quantiles, ratio } from "./figures.ts";
import { firstMatch, openSseStage } from "./sse-stage.ts";

const answers = 60;

/** Measures and prints. */
export async function sseApprovals(): Promise<void> {
  const stage = await openSseStage();
  const toStart: number[] = [];
  const toOutput: number[] = [];
  const ai: number[] = [];
  const bare: number[] = [];
  for (let index = 0; index < answers; index++) {
    const chat = `a-${index}`;
    const answer = approvalAnswer(chat, await readChunks(await stage.say(chat, "pay")));
    const clicked = performance.now();
    const response = await stage.send(answer);
    toOutput.push((await firstMatch(response, '"tool-output-available"')) - clicked);
    toStart.push(stage.toolStarted() - clicked);
    ai.push(await answerTime(stage.ai));
    bare.push(await answerTime(stage.bare));
  }
  await stage.close();
  console.log(`\nApproval over HTTP, ${answers} answers on disk with full sync, milliseconds p50 / p99`);
  console.log(`  answer → tool starts   ${quantiles(toStart)}`);
  console.log(
    `  answer → tool output   ${quantiles(toOutput)}   ${ratio(median(toOutput), median(ai))} × ai   ${ratio(median(toOutput), median(bare))} × bare`,
  );
  console.log(`  ai, no tool, no store  ${quantiles(ai)}`);
  console.log(`  bare, the same         ${quantiles(bare)}`);
}

/** The time from sending an approval to the output, for a server that stores and runs nothing. */
async function answerTime(url: string): Promise<number> {
  const sent = performance.now();
  return (await firstMatch(await fetch(`${url}/answer`, { method: "POST" }), '"tool-output-available"')) - sent;
}

async function readChunks(response: Response): Promise<UIMessageChunk[]> {
  return [...(await response.text()).matchAll(/^data: (\{.*\})$/gm)].map(
    ([, json = ""]) => JSON.parse(json) as UIMessageChunk,
  );
}
