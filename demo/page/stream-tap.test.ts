import { expect, test } from "vitest";
import { createStreamTap, type TapOptions } from "./stream-tap.ts";

const now = () => 0;
const schedule: NonNullable<TapOptions["schedule"]> = (draw) => draw();

function respondWith(text: string, contentType = "text/event-stream"): typeof fetch {
  return async () => new Response(text, { headers: { "content-type": contentType } });
}

const lines = (tap: ReturnType<typeof createStreamTap>) =>
  tap.entries().map((entry) => (entry.kind === "chunk" ? `${entry.sequence ?? "-"} ${entry.type}` : entry.kind));

const read = async (tap: ReturnType<typeof createStreamTap>, method = "POST") => {
  const response = await tap.fetch("/stream", { method });
  const text = await response.text();
  // The other half of the body is read beside ours.
  await new Promise((resolve) => setTimeout(resolve));
  return text;
};

const story = 'id: 1\ndata: {"type":"start"}\n\nid: 2\ndata: {"type":"finish"}\n\ndata: [DONE]\n\n';

test("the chat reads the response untouched while the chunks are noted with their numbers", async () => {
  const tap = createStreamTap({ fetch: respondWith(story), now, schedule });
  expect(await read(tap)).toBe(story);
  expect(lines(tap)).toEqual(["request", "1 start", "2 finish", "done"]);
});

test("chunks of a replay that were noted before are not noted again", async () => {
  const replay = 'data: {"type":"start"}\n\nid: 1\ndata: {"type":"start"}\n\nid: 3\ndata: {"type":"text-start"}\n\n';
  const bodies = [story, replay];
  const tap = createStreamTap({ fetch: async (...call) => respondWith(bodies.shift() ?? "")(...call), now, schedule });
  await read(tap);
  await read(tap, "GET");
  expect(lines(tap)).toEqual(["request", "1 start", "2 finish", "done", "request", "3 text-start"]);
});

test("only the newest lines are kept", async () => {
  const tap = createStreamTap({ fetch: respondWith(story), limit: 2, now, schedule });
  await read(tap);
  expect(lines(tap)).toEqual(["2 finish", "done"]);
});

test("other responses and text that is no chunk pass by", async () => {
  const json = createStreamTap({ fetch: respondWith('{"error":{}}', "application/json"), now, schedule });
  expect(await read(json)).toBe('{"error":{}}');
  expect(lines(json)).toEqual([]);
  const broken = createStreamTap({ fetch: respondWith(": keep-alive\n\ndata: {oops\n\n"), now, schedule });
  await read(broken);
  expect(lines(broken)).toEqual(["request"]);
});
