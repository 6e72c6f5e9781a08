/** The model for servers that connect to one: over HTTP for `runAsync`, over the Live API for `runLive`. */
import { setTimeout as delay } from "node:timers/promises";
import { call, pause, startScriptedGemini, text } from "adk-stream-protocol/testing";
import { words } from "../words.ts";
import { options, serve } from "./serve.ts";

/** Responses are one sentence that takes 20 ms, instead of the long one. */
const { short = false } = options as { short?: boolean };
const speakMs = 20;

const { url } = await startScriptedGemini({
  rules: [
    { when: ({ responses }) => responses.length > 0, say: [text("Done.")] },
    { when: /pay/, say: [call("pay", { amount: 1 })] },
    { say: () => (short ? [text("Hello, "), pause(delay(speakMs)), text("again.")] : [text(words.join(""))]) },
  ],
});
serve(url);
