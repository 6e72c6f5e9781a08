import { readFileSync } from "node:fs";
import { FunctionTool } from "@google/adk";
import { call, type Rule, text, usage } from "adk-stream-protocol/testing";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { endSockets, openSocket } from "../fixtures/raw-socket.ts";
import { asked, openWorld, post, receive } from "../fixtures/world.ts";

const document = readFileSync(new URL("../../PROTOCOL.md", import.meta.url), "utf8");

/** The code blocks of one section, in order. */
function blocksOf(heading: string): string[] {
  const [, after = ""] = document.split(`### ${heading}\n`);
  const [section = ""] = after.split(/\n##/);
  return [...section.matchAll(/```\w*\n([\s\S]*?)```/g)].map(([, block = ""]) => block);
}

const rules: Rule[] = [
  {
    when: /Pay/,
    say: [
      call("pay", { amount: 50, recipient: "Hanako" }),
      usage({ promptTokenCount: 20, candidatesTokenCount: 10, totalTokenCount: 30 }),
    ],
  },
  {
    when: ({ responses }) => responses.length > 0,
    say: [text("Paid."), usage({ promptTokenCount: 40, candidatesTokenCount: 2, totalTokenCount: 42 })],
  },
];

const pay = new FunctionTool({
  name: "pay",
  description: "Pays a person.",
  parameters: z.object({ amount: z.number(), recipient: z.string() }),
  requireConfirmation: true,
  execute: () => ({ receipt: 1 }),
});

const openExample = () => openWorld({ rules, tools: [pay] });

/** Replaces generated ids by short ones, as the document has them, and back. */
class Names {
  readonly #names = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  shorten(received: string): string {
    return received.replaceAll(
      /\b(?:(msg|apr|turn)_[0-9a-f]{32}|adk-[0-9a-f-]{36}|live-[0-9a-f]{8}-\d+)/g,
      (id, kind) => {
        const known = this.#names.get(id);
        if (known !== undefined) return known;
        const prefix = (kind as string | undefined) ?? "call";
        const count = (this.#counts.get(prefix) ?? 0) + 1;
        this.#counts.set(prefix, count);
        this.#names.set(id, `${prefix}_${count}`);
        return `${prefix}_${count}`;
      },
    );
  }

  restore(written: string): string {
    let restored = written;
    for (const [id, name] of this.#names) restored = restored.replaceAll(`"${name}"`, `"${id}"`);
    return restored;
  }
}

/** Events without their ids and blank lines. */
const dataLines = (body: string) => body.replaceAll(/^id: \d+\n/gm, "").replaceAll("\n\n", "\n");

afterEach(endSockets);

describe("PROTOCOL.md", () => {
  it("shows a gated call over SSE as it happens", async () => {
    const [request = "", question, answer = "", outcome] = blocksOf("Example: a gated call over SSE");
    const world = await openExample();
    const names = new Names();
    const first = await receive(await post(world, "/stream", request));
    expect(names.shorten(dataLines(first.body))).toBe(question);
    const second = await receive(await post(world, "/stream", names.restore(answer)));
    expect(names.shorten(dataLines(second.body))).toBe(outcome);
  });

  it("shows a gated call over the chat wire as it happens", async () => {
    const [request = "", question, answer = "", outcome] = blocksOf("Example: a gated call over the chat wire");
    const client = await openSocket(await openExample());
    const names = new Names();
    client.send(request);
    expect(names.shorten(dataLines((await client.question()).body))).toBe(question);
    client.send(names.restore(answer));
    expect(names.shorten(dataLines((await client.turn()).body))).toBe(outcome);
  });

  it("shows the control frames of the same call with ?sequence=1", async () => {
    const [request = "", , answer = "", , controls = ""] = blocksOf("Example: a gated call over the chat wire");
    const client = await openSocket(await openExample(), "?sequence=1");
    const names = new Names();
    client.send({ ...JSON.parse(request), requestId: "r_1" });
    names.shorten(asked(await client.question()).approvalId);
    client.send({ ...JSON.parse(names.restore(answer)), requestId: "r_2" });
    await client.turn();
    const received = client.frames.filter((frame) => frame.startsWith("{")).map((frame) => names.shorten(frame));
    // `accepted` comes before or after the first frames of its turn.
    expect(received.toSorted()).toEqual(controls.trim().split("\n").toSorted());
  });
});
