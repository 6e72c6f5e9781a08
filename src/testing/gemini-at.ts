import { Gemini } from "@google/adk";
import type { HttpOptions } from "@google/genai";

/** The real `Gemini` class aimed at one URL: each instance its own, where the environment variable is for all. */
export function geminiAt({ model, url, apiKey = "none" }: { model: string; url: string; apiKey?: string }): Gemini {
  // Said, because an environment variable would choose Vertex AI otherwise.
  return new GeminiAt({ model, apiKey, vertexai: false }, url);
}

class GeminiAt extends Gemini {
  readonly #url: string;

  constructor(params: ConstructorParameters<typeof Gemini>[0], url: string) {
    super(params);
    this.#url = url;
  }

  protected override getHttpOptions(): HttpOptions {
    return { ...super.getHttpOptions(), baseUrl: this.#url };
  }

  protected override getLiveHttpOptions(): HttpOptions {
    return { ...super.getLiveHttpOptions(), baseUrl: this.#url };
  }
}
