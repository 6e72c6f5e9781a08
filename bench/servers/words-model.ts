import { PassThrough } from "node:stream";
import { setImmediate as immediate } from "node:timers/promises";
import type { BaseLlm, BaseLlmConnection, LlmResponse } from "@google/adk";
import { words } from "../words.ts";

/**
 * A model in the process of the server, to measure without a connection to a model. It yields the words one by one and
 * returns to the event loop between them, as a connection would. `Base` is the class of the agent's copy of ADK.
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
