/**
 * One suite for every wire: the same stories over SSE, our chat wire and the wire of AI SDK 7. People see the same on all
 * of them; the sequences of chunks differ only in where a response ends.
 */
import type { UIMessage, UIMessageChunk } from "ai";
import { describe, expect, it } from "vitest";
import { type Ai, majors, partStates, validateOn, type Wire } from "../fixtures/stock-chat.ts";
import { over, stories, tellStory } from "../fixtures/stories.ts";
import { get, type Received, sequence, states } from "../fixtures/world.ts";

const wires: readonly { wire: Wire; on: (typeof majors)[number] }[] = [
  ...majors.flatMap((on) => (["SSE", "chat wire"] as const).map((wire) => ({ wire, on }))),
  { wire: "AI SDK wire", on: majors[1] },
];

for (const { wire, on } of wires) {
  const [major, ai] = on;
  describe(`a chat on stock ${major} over the ${wire}`, () => {
    it.each(stories)("$name", async (story) => {
      const { world, messages, replies, requests, errors } = await tellStory(story, ai, wire);
      const differs = wire === "SSE" ? {} : story.live;
      const { error, states: went, firstReply } = { ...story, ...differs };
      expect(replies.map(sequence)).toEqual(story.expect.map((line) => over(wire, line)));
      expect(requests).toHaveLength(story.expect.length);
      expect(errors.map(({ message }) => message)).toEqual(error === undefined ? [] : [expect.stringContaining(error)]);
      expect(world.payments).toEqual(story.payments ?? []);
      expect(world.gemini.requests).toHaveLength(story.modelCalls);
      expect(world.gemini.requests.flatMap(({ pairingErrors }) => pairingErrors)).toEqual([]);
      if (went) expect(states(replies.at(-1)!)).toEqual(went);

      const turns = messages.filter(({ role }) => role === "user").length;
      expect(messages.map(({ role }) => role)).toEqual(
        Array.from({ length: turns }, () => ["user", "assistant"]).flat(),
      );
      for (const [index, { chunks }] of replies.entries()) await validateReply(ai, chunks, requests[index]!);
      await ai.validateUIMessages({ messages });
      const { body } = await get(world, "/stream/chat-1/messages");
      await ai.validateUIMessages({ messages: body.messages });
      const seen = messages.map(partStates);
      expect(body.messages.map(partStates)).toEqual(firstReply ? seen.with(1, [...firstReply]) : seen);
    });
  });
}

describe("the chunks of one story", () => {
  it.each(stories.filter((story) => !story.live))("are the same over all three wires: $name", async (story) => {
    const [, ai] = majors[1];
    const told = async (wire: Wire) => normalised(await tellStory(story, ai, wire));
    const overSse = await told("SSE");
    expect(await told("chat wire")).toEqual(overSse);
    expect(await told("AI SDK wire")).toEqual(overSse);
  });
});

/** Reads a response as a stock chat does: as a continuation of the message that the client sent. */
async function validateReply(
  ai: Ai,
  chunks: readonly UIMessageChunk[],
  request: Record<string, unknown>,
): Promise<void> {
  const sent = (request["messages"] as UIMessage[]).at(-1)!;
  await validateOn(
    ai,
    chunks.filter(({ type }) => type !== "error"),
    sent.role === "assistant" ? sent : undefined,
  );
}

/**
 * All chunks of a story in a row, without the ends of responses. Ids, times and token counts differ in every run, so ids
 * get names that are the same in every run, and times and counts are left out.
 */
function normalised({ replies }: { replies: readonly Received[] }): UIMessageChunk[] {
  const names = new Map<string, string>();
  const named = (id: string) => names.get(id) ?? names.set(id, `#${names.size}`).get(id)!;
  const rows: UIMessageChunk[] = [];
  let parked: string | undefined;
  for (const { chunks } of replies) {
    for (const chunk of chunks) {
      if (chunk.type === "start" && (chunk.messageId === parked || chunk.messageId === undefined)) continue;
      if (chunk.type === "start") parked = chunk.messageId;
      if (chunk.type === "finish" && chunk.finishReason === "tool-calls") continue;
      const text = JSON.stringify(chunk, (key, value: unknown) =>
        key === "expiresAt" || key === "messageMetadata" ? undefined : value,
      ).replaceAll(/"(?:msg|apr)_[0-9a-f]{32}"|"(?:adk|live)-[^"]+"/g, (id) => JSON.stringify(named(id)));
      rows.push(JSON.parse(text) as UIMessageChunk);
    }
  }
  return rows;
}
