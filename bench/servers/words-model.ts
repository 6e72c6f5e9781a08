import { PassThrough } from "node:stream";
import { setImmediate as immediate } from "node:timers/promises";
import type { BaseLlm, BaseLlmConnection, LlmResponse } from "@google/adk";
import { words } from "../words.ts";

/**
 * A model inside the process, for a measurement without a model's wire: it says the words one by one and lets the
 * process breathe in between, as a wire would. `Base` is the class of whichever copy of ADK the agent belongs to.
 */
export function wordsModel(Base: typeof BaseLlm): BaseLlm {
  class WordsModel extends Base {
    override async *generateContentAsync(): AsyncGenerator<LlmResponse, void> {
      yield* speak();
    }

    override async connect(): Promise<BaseLlmConnection> {
      const asked = new PassThrough({ objectMode: true });
      return {
        async sendHistory() {},
        async sendContent(content) {
          asked.write(content);
        },
        async sendRealtime() {},
        async close() {
          asked.end();
        },
        async *receive() {
          for await (const _ of asked) {
            yield* speak();
            yield { turnComplete: true };
          }
        },
      };
    }
  }
  return new WordsModel({ model: "words" });
}

async function* speak(): AsyncGenerator<LlmResponse, void> {
  for (const word of words) {
    await immediate();
    yield { content: { role: "model", parts: [{ text: word }] }, partial: true };
  }
  yield { content: { role: "model", parts: [{ text: words.join("") }] } };
}
