import {
  CONTENT_REQUEST_PROCESSOR,
  createEvent,
  createSession,
  type Event,
  InvocationContext,
  LlmAgent,
  type LlmRequest,
  PluginManager,
} from "@google/adk";
import type { Content, Part } from "@google/genai";
import fc from "fast-check";
import { expect, test } from "vitest";
import { FinishedContents, finishedTurnsIn, rememberContents } from "./finished-contents.ts";

type Processor = Pick<FinishedContents, "runAsync">;

const agent = new LlmAgent({ name: "teller", model: "gemini-2.5-flash" });
const uncounted = { charge: () => undefined };

/** The contents that a processor makes, or what it throws. */
async function contentsBy(processor: Processor, events: Event[], branch?: string): Promise<Content[] | string> {
  const session = createSession({ id: "s", appName: "app", userId: "ann", events: [...events] });
  const pluginManager = new PluginManager();
  const context = new InvocationContext({
    invocationId: "i",
    agent,
    session,
    pluginManager,
    ...(branch && { branch }),
  });
  const request: LlmRequest = { contents: [], toolsDict: {}, liveConnectConfig: {} };
  try {
    for await (const _ of processor.runAsync(context, request)) continue;
  } catch (error) {
    return String(error);
  }
  return request.contents;
}

const freeze = <T>(value: T): T => {
  if (typeof value === "object" && value !== null) for (const inner of Object.values(value)) freeze(inner);
  return Object.freeze(value);
};
const event = (author: string, role: string, parts: Part[], rest: Partial<Event> = {}) =>
  freeze(createEvent({ author, content: { role, parts }, ...rest }));
const said = (text: string, rest?: Partial<Event>) => event("user", "user", [{ text }], rest);
const told = (text: string) => event("teller", "model", [{ text }]);
const called = (id: string) => event("teller", "model", [{ functionCall: { id, name: "pay", args: { id } } }]);
const responded = (id: string) =>
  event("teller", "user", [{ functionResponse: { id, name: "pay", response: { paid: id } } }]);

const anyId = fc.constantFrom("a", "b", "adk-c", "d");
const anyEvent: fc.Arbitrary<Event> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("hello", "", "again").map((text) => said(text)) },
  { weight: 3, arbitrary: fc.constantFrom("yes", "no", "").map(told) },
  { weight: 2, arbitrary: anyId.map(called) },
  { weight: 2, arbitrary: anyId.map(responded) },
  fc.constantFrom("east", "east.far").map((branch) => said("on a branch", { branch })),
  fc.constant(said("in a scope", { isolationScope: "x" })),
  fc.constant(event("other", "model", [{ text: "of another agent" }, { functionCall: { id: "e", name: "find" } }])),
  fc.constant(event("teller", "model", [{ text: "thinking", thought: true }, { text: "thought" }])),
  fc.constant(freeze(createEvent({ author: "teller", actions: undefined }))),
);

test("makes the contents that ADK makes, for any history that grows", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyEvent, { maxLength: 14 }),
      fc.constantFrom(undefined, "east"),
      async (history, branch) => {
        const remembered = new FinishedContents(uncounted, 0);
        for (let length = 0; length <= history.length; length += 1) {
          const events = history.slice(0, length);
          const theirs = await contentsBy(CONTENT_REQUEST_PROCESSOR, events, branch);
          expect(await contentsBy(remembered, events, branch)).toEqual(theirs);
        }
      },
    ),
    { numRuns: 400 },
  );
});

test("makes the contents that ADK makes, for a history that was cut or summarised", async () => {
  const remembered = new FinishedContents(uncounted, 0);
  const history = [said("one"), told("1"), said("two"), called("a"), responded("a"), told("2"), said("three")];
  await contentsBy(remembered, history);
  const summary = Object.assign(createEvent({ author: "user" }), {
    isCompacted: true,
    startTime: 0,
    endTime: Date.now() - 1000,
    compactedContent: "They counted.",
  });
  for (const events of [
    history.slice(0, 2),
    [...history.slice(2), told("3"), said("four")],
    [summary, ...history],
    [...history, summary, said("five")],
    history.toSpliced(1, 1),
  ])
    expect(await contentsBy(remembered, events)).toEqual(await contentsBy(CONTENT_REQUEST_PROCESSOR, events));
});

test("finished turns are made once, and a change to a request stays in it", async () => {
  const remembered = new FinishedContents(uncounted, 0);
  const history = [said("one"), told("1"), said("two"), called("a"), responded("a"), told("2"), said("three")];
  const first = (await contentsBy(remembered, history)) as Content[];
  expect(finishedTurnsIn(first)?.events).toHaveLength(6);
  for (const { parts } of first) parts?.push({ text: "added by a callback" });
  const longer = [...history, told("3"), said("four")];
  const second = (await contentsBy(remembered, longer)) as Content[];
  expect(second).toEqual(await contentsBy(CONTENT_REQUEST_PROCESSOR, longer));
  expect(finishedTurnsIn(second)?.contents.slice(0, 6)).toEqual(finishedTurnsIn(first)?.contents);
  expect(finishedTurnsIn(second)?.contents[0]).toBe(finishedTurnsIn(first)?.contents[0]);
});

test("events that could still change and calls without a response are not finished", async () => {
  const remembered = new FinishedContents(uncounted, 0);
  const changing = createEvent({ author: "teller", content: { role: "model", parts: [{ text: "1" }] } });
  const beforeChange = await contentsBy(remembered, [said("one"), changing, said("two")]);
  expect(finishedTurnsIn(beforeChange as Content[])).toBeUndefined();
  const waiting = await contentsBy(remembered, [said("one"), told("1"), said("two"), called("a"), said("three")]);
  expect(finishedTurnsIn(waiting as Content[])?.events).toHaveLength(2);
});

test("short histories and agents that get no history are left to ADK", async () => {
  const history = [said("one"), told("1"), said("two")];
  expect(finishedTurnsIn((await contentsBy(new FinishedContents(uncounted, 4), history)) as Content[])).toBeUndefined();
  agent.includeContents = "none";
  expect(finishedTurnsIn((await contentsBy(new FinishedContents(uncounted, 0), history)) as Content[])).toBeUndefined();
  agent.includeContents = "default";
});

test("K35: ADK makes the contents by `CONTENT_REQUEST_PROCESSOR`, in the agent's list of processors", () => {
  const inner = new LlmAgent({ name: "inner", model: "gemini-2.5-flash" });
  const outer = new LlmAgent({ name: "outer", model: "gemini-2.5-flash", subAgents: [inner] });
  expect(outer.requestProcessors).toContain(CONTENT_REQUEST_PROCESSOR);
  rememberContents(outer, uncounted);
  for (const { requestProcessors } of [outer, inner]) {
    expect(requestProcessors).not.toContain(CONTENT_REQUEST_PROCESSOR);
    expect(requestProcessors.filter((each) => each instanceof FinishedContents)).toHaveLength(1);
  }
});
