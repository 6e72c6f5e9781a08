/** The model of a torture run, in a process of its own: it calls the tools that a message asks for, or tells a story. */
import { setTimeout as delay } from "node:timers/promises";
import process from "node:process";
import { call, pause, type Piece, startScriptedGemini, text } from "../../src/testing/index.ts";
import { clerk, story, textForClerk, textToJobs } from "./settings.ts";

/** The story in pieces, so that a node can die between two words. */
function storyPieces(): Piece[] {
  const words = story.split(/(?<= )/);
  return words.flatMap((word, index) => [text(word), pause(delay(15 * (index + 1)))]);
}

const gemini = await startScriptedGemini({
  rules: [
    {
      when: ({ responses, fresh }) => !fresh && responses.length > 0,
      say: ({ responses }) => [text(`Heard of ${responses.map(({ name }) => name).join(", ")}.`)],
    },
    {
      when: ({ fresh, text: said, toolNames }) =>
        fresh && toolNames.includes(clerk) && textForClerk(said) !== undefined,
      say: (ask) => [call(clerk, { request: textForClerk(ask.text) })],
    },
    { when: /\bjob /, say: (ask) => textToJobs(ask.text).map(({ kind, ...job }) => call(kind, job)) },
    { when: /story/, say: storyPieces },
    { say: [text("Yes.")] },
  ],
  maxRequests: 500,
});

// Requests that the real Gemini would refuse. Each is looked at once, before it is forgotten.
const refused: string[] = [];
let last = 0;
const look = () => {
  for (const { request, pairingErrors } of gemini.requests) {
    if (request <= last) continue;
    last = request;
    if (pairingErrors.length > 0 && refused.length < 20) refused.push(pairingErrors.join("; "));
  }
};
setInterval(look, 50);

process.on("message", () => {
  look();
  process.send?.({ requests: last, refused });
});
process.on("disconnect", () => process.exit());
process.send?.({ url: gemini.url });
