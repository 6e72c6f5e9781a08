import { createEvent, createSession, type Event, InvocationContext, LlmAgent, PluginManager } from "@google/adk";
import { type Content, GoogleGenAI, type Part } from "@google/genai";
import fc from "fast-check";
import { expect, test } from "vitest";
import { FinishedContents } from "./finished-contents.ts";
import { keepRequestTexts, type RequestMaker } from "./request-texts.ts";

const agent = new LlmAgent({ name: "teller", model: "gemini-2.5-flash" });
const uncounted = { charge: () => undefined };

/** A client that records the bodies of its requests instead of sending them. */
function recordingClient(vertexai: boolean) {
  const bodies: unknown[] = [];
  const how = vertexai ? { vertexai, project: "p", location: "l", apiKey: undefined } : { apiKey: "none", vertexai };
  const { models } = new GoogleGenAI(how);
  const client = models["apiClient"] as unknown as { requestStream: (request: { body: string }) => Promise<unknown> };
  client.requestStream = async ({ body }) => {
    bodies.push(JSON.parse(body));
    return (async function* () {})();
  };
  const send = async (contents: Content[]): Promise<unknown> => {
    const config = { systemInstruction: "Count $& the money.", temperature: 0.5 };
    for await (const _ of await models.generateContentStream({ model: "gemini-2.5-flash", contents, config })) continue;
    return bodies.at(-1);
  };
  return { models: models as unknown as RequestMaker, send };
}

/** The contents of a request about these events. */
async function contentsOf(events: Event[], processor: FinishedContents): Promise<Content[]> {
  const session = createSession({ id: "s", appName: "app", userId: "ann", events: [...events] });
  const context = new InvocationContext({ invocationId: "i", agent, session, pluginManager: new PluginManager() });
  const request = { contents: [], toolsDict: {}, liveConnectConfig: {} };
  for await (const _ of processor.runAsync(context, request)) continue;
  return request.contents;
}

const anyPart = fc.oneof(
  fc.string({ unit: "binary", minLength: 1 }).map((text): Part => ({ text })),
  fc
    .jsonValue()
    .map((value): Part => ({ text: "x", codeExecutionResult: { output: "$&", ...{ 2: value, 1: value } } })),
  fc.constant<Part>({ text: "look", inlineData: { data: "AAAA", mimeType: "image/png" } }),
);
const anyTurn = fc.tuple(fc.array(anyPart, { maxLength: 2 }), fc.array(anyPart, { minLength: 1, maxLength: 3 }));

/** What a callback may do to the contents of a request. */
const anyChange = fc.constantFrom<(contents: Content[]) => void>(
  () => undefined,
  () => undefined,
  (contents) => contents.at(-2)?.parts?.push({ text: "a hint" }),
  (contents) => contents[0]?.parts?.splice(0, 1, { text: "removed" }),
  (contents) => contents.splice(1, 1),
  (contents) => contents.unshift({ role: "user", parts: [{ text: "a note" }] }),
  (contents) => Object.assign(contents[2] ?? {}, { role: "user" }),
  (contents) => Object.assign(contents[0]?.parts?.[0] ?? {}, { text: "changed" }),
  (contents) => Object.assign(contents[1]?.parts?.[0] ?? {}, { thought: true }),
);

test.each([false, true])("sends what the client would have sent (vertexai: %s)", async (vertexai) => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(anyTurn, anyChange), { minLength: 1, maxLength: 6 }), async (turns) => {
      const [plain, ours] = [recordingClient(vertexai), recordingClient(vertexai)];
      keepRequestTexts(ours.models);
      const processor = new FinishedContents(uncounted, 0);
      const events: Event[] = [];
      for (const [[question, reply], change] of turns) {
        events.push(
          Object.freeze(
            createEvent({ author: "user", content: { role: "user", parts: [{ text: "q" }, ...question] } }),
          ),
        );
        const contents = await contentsOf(events, processor);
        change(contents);
        expect(await ours.send(contents)).toEqual(await plain.send(structuredClone(contents)));
        events.push(Object.freeze(createEvent({ author: "teller", content: { role: "model", parts: reply } })));
      }
    }),
    { numRuns: 150 },
  );
});

test("the client converts a finished turn once", async () => {
  const { models, send } = recordingClient(false);
  const converted: number[] = [];
  const make = models.generateContentStreamInternal?.bind(models);
  models.generateContentStreamInternal = (parameters) => {
    converted.push(parameters.contents.length);
    return make?.(parameters) ?? Promise.reject(new Error("K36"));
  };
  keepRequestTexts(models);
  const processor = new FinishedContents(uncounted, 0);
  const events: Event[] = [];
  for (let turn = 0; turn < 5; turn += 1) {
    events.push(
      Object.freeze(createEvent({ author: "user", content: { role: "user", parts: [{ text: `q${turn}` }] } })),
    );
    await send(await contentsOf(events, processor));
    events.push(Object.freeze(createEvent({ author: "teller", content: { role: "model", parts: [{ text: "r" }] } })));
  }
  // One mark, the turn that has finished since, and the new message. The first request has no finished turns.
  expect(converted).toEqual([1, 4, 4, 4, 4]);
});

test("a long history is sent whole in every turn, also after a callback has changed its beginning", async () => {
  const [plain, ours] = [recordingClient(false), recordingClient(false)];
  keepRequestTexts(ours.models);
  const processor = new FinishedContents(uncounted, 0);
  const events: Event[] = [];
  for (let turn = 0; turn < 130; turn += 1) {
    const said = (author: string, role: string) =>
      Object.freeze(createEvent({ author, content: { role, parts: [{ text: `${author} ${turn}` }] } }));
    events.push(said("user", "user"));
    const contents = await contentsOf(events, processor);
    if (turn % 20 === 19) contents[turn]?.parts?.push({ text: "a hint" });
    expect(await ours.send(contents)).toEqual(await plain.send(structuredClone(contents)));
    events.push(said("teller", "model"));
  }
});

test("requests at once do not get each other's texts", async () => {
  const { models, send } = recordingClient(false);
  keepRequestTexts(models);
  const chats = await Promise.all(
    ["ann", "bob"].map(async (name) => {
      const said = (author: string, text: string) =>
        Object.freeze(
          createEvent({ author, content: { role: author === "user" ? "user" : "model", parts: [{ text }] } }),
        );
      const events = [said("user", `${name} 1`), said("teller", `${name} 2`), said("user", `${name} 3`)];
      const processor = new FinishedContents(uncounted, 0);
      await send(await contentsOf(events, processor));
      return contentsOf(events, processor);
    }),
  );
  const bodies = await Promise.all(chats.map(async (contents) => JSON.stringify(await send(contents))));
  expect(new Set(bodies.map((body) => body.match(/ann|bob/g)?.length))).toEqual(new Set([3]));
});

test("two continuations of one history do not get each other's texts", async () => {
  const { models, send } = recordingClient(false);
  keepRequestTexts(models);
  const processor = new FinishedContents(uncounted, 0);
  const said = (author: string, text: string) =>
    Object.freeze(createEvent({ author, content: { role: author === "user" ? "user" : "model", parts: [{ text }] } }));
  const shared = [said("user", "one"), said("teller", "two"), said("user", "three")];
  await send(await contentsOf(shared, processor));
  const histories = ["secret", "public"].map((word) => [
    ...shared,
    said("teller", `${word} reply`),
    said("user", `${word} question`),
  ]);
  const contents = await Promise.all(histories.map((events) => contentsOf(events, processor)));
  for (const [index, word] of ["secret", "public"].entries())
    for (let again = 0; again < 2; again += 1) {
      const body = JSON.stringify(await send(contents[index]!));
      expect(body.match(/secret|public/g)).toEqual([word, word]);
    }
});

test("K36: the genai client makes requests by `generateContentStreamInternal` and `requestStream`", () => {
  const models = new GoogleGenAI({ apiKey: "none" }).models as unknown as RequestMaker;
  expect(models.generateContentStreamInternal).toBeTypeOf("function");
  expect(models.apiClient?.requestStream).toBeTypeOf("function");
});

test("a client that makes its requests in another way is left alone", () => {
  const send = () => Promise.resolve();
  const other: RequestMaker = { apiClient: { requestStream: send } };
  keepRequestTexts(other);
  expect(other).toEqual({ apiClient: { requestStream: send } });
});
