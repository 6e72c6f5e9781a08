/** The model for servers that connect to one: over HTTP for `runAsync`, over the Live API for `runLive`. */
import { call, startScriptedGemini, text } from "adk-stream-protocol/testing";
import { words } from "../words.ts";
import { serve } from "./serve.ts";

const { url } = await startScriptedGemini({
  rules: [
    { when: ({ responses }) => responses.length > 0, say: [text("Done.")] },
    { when: /pay/, say: [call("pay", { amount: 1 })] },
    { when: /hello/, say: [text("Hello.")] },
    { when: /dump/, say: [call("dump")] },
    { when: /many calls/, say: Array.from({ length: 1500 }, (_, index) => call("where", { index })) },
    { say: [text(words.join(""))] },
  ],
});
serve(url);
