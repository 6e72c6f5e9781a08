import { Gemini } from "@google/adk";
import type { HttpOptions } from "@google/genai";

/**
 * ADK's own `Gemini` class for one URL, over HTTP and live. Each instance has its own URL, while
 * `GOOGLE_GEMINI_BASE_URL` applies to all.
 */
export function geminiAt({ model, url, apiKey = "none" }: { model: string; url: string; apiKey?: string }): Gemini {
  // Set explicitly, because an environment variable could choose Vertex AI otherwise.
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
