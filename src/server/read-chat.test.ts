import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BridgeError, parseChatRequest, parseFrame, parseJson } from "../protocol/index.ts";
import { UnreadJson } from "../protocol/unread-json.ts";
import { interpret } from "./interpret.ts";
import { ChatText } from "./read-chat.ts";

const MiB = 1024 * 1024;
const limits = { maxNewBytes: 4 * MiB };
const bytesOf = (text: string) => new TextEncoder().encode(text);

/** What is read of a body. */
const read = (body: string | Uint8Array, options: Partial<typeof limits> = {}) =>
  new ChatText(typeof body === "string" ? bytesOf(body) : body, { ...limits, ...options }).read();
/** What is read of a frame. */
const readFrame = (frame: string) => new ChatText(bytesOf(frame), { ...limits, isFrame: true }).read();

const newId = () => "new-id";
/** What a body means, if only what is new is read. */
const meaning = async (body: string) => withOutputs(interpret(parseChatRequest(await read(body)), newId));
/** What a body means, if all of it is read. */
const wholeMeaning = (body: string) => interpret(parseChatRequest(parseJson(body, { maxDepth: 64 })), newId);

const user = '{"id":"u","role":"user","parts":[{"type":"text","text":"hi"}]}';
const answerTo = (approval: string, more = "") =>
  `{"type":"tool-pay","toolCallId":"call","state":"approval-responded","approval":{"id":"${approval}","approved":true}${more}}`;
const assistant = (...parts: string[]) => `{"id":"a","role":"assistant","parts":[${parts.join()}]}`;
const bodyOf = (messages: string[], more = "") => `{"id":"c","messages":[${messages.join()}]${more}}`;

const said = { type: "message", message: { id: "u", role: "user", parts: [{ type: "text", text: "hi" }] } };
const answered = { type: "answers", answers: [{ id: "apr", approved: true }], messageId: "a" };

const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
/** Values that are refused where they are new. */
const bad: Record<string, string> = {
  __proto__: '{"__proto__":{"x":1}}',
  "__proto__ in disguise": String.raw`{"\u005f_proto__":1}`,
  constructor: '{"constructor":{"prototype":1}}',
  "70 levels": nested(70),
  "a million levels": nested(1_000_000),
  "5 MB": `"${"x".repeat(5_000_000)}"`,
  "a key twice": '{"a":1,"a":2}',
  "half a character": String.raw`"\ud800"`,
  "300,000 values": `[${"0,".repeat(300_000)}0]`,
};

describe("old messages", () => {
  test.each(Object.entries(bad))("with %s are not read", async (_name, value) => {
    const old = assistant(
      `{"type":"tool-x","toolCallId":"old","state":"output-available","input":${value},"output":${value}}`,
    );
    const earlier = `{"id":"e","role":"user","parts":[],"metadata":${value}}`;
    expect(await meaning(bodyOf([earlier, old, user]))).toEqual(said);
    const yes = assistant(answerTo("apr"));
    expect(await meaning(bodyOf([earlier, yes]))).toEqual(answered);
    expect(await meaning(bodyOf([earlier, yes], ',"messageId":"a"'))).toEqual(answered);
    expect(await meaning(bodyOf([yes, earlier, `{"role":"user","parts":${value}}`], ',"messageId":"a"'))).toEqual(
      answered,
    );
  });

  test("need not be messages", async () => {
    for (const old of ["null", "5", "[]", "{}", '"x"', '{"role":"root"}', '{"role":"user","parts":7}'])
      expect(await meaning(bodyOf([old, old, user]))).toEqual(said);
  });

  test("need not be UTF-8", async () => {
    const body = bytesOf(bodyOf(['{"role":"user","parts":["????"]}', user]));
    body.set([0xff, 0xc3, 0x28, 0xe8], body.indexOf(0x3f));
    expect(interpret(parseChatRequest(await read(body)), newId)).toEqual(said);
  });

  test("must be balanced", async () => {
    for (const old of ['{"a":[}', '{"a":"}', "{]", '{"a":1', '{"a":1}}', ""])
      await expect(read(bodyOf([old, user]))).rejects.toMatchObject({ code: "malformed" });
  });

  test("are not read for the wish for another reply, and neither is the last message", async () => {
    for (const value of Object.values(bad)) {
      const last = `{"id":"l","role":"assistant","parts":[{"type":"tool-x","output":${value}}]}`;
      const body = await read(bodyOf([user, last], ',"trigger":"regenerate-message"'));
      expect(body).toMatchObject({
        messages: [
          { id: "u", role: "user" },
          { id: "l", role: "assistant" },
        ],
      });
      expect(interpret(parseChatRequest(body))).toEqual({ type: "regenerate", messageId: undefined });
    }
    await expect(
      read(bodyOf([user, '{"role":"root"}'], ',"trigger":"regenerate-message"')).then(parseChatRequest),
    ).rejects.toThrow("role");
  });
});

describe("the message before the new one", () => {
  test.each(Object.entries(bad))("has its id and role, even with %s in it", async (_name, value) => {
    const before = `{"parts":[${value}],"role":"assistant","metadata":${value},"id":"before"}`;
    expect(await read(bodyOf([user, before, user]))).toMatchObject({
      messages: [{ id: "before", role: "assistant" }, { id: "u" }],
    });
    expect(await read(bodyOf([before, assistant(answerTo("apr"))]))).toMatchObject({
      messages: [{ id: "before" }, { id: "a" }],
    });
  });

  test.each([
    [String.raw`{"id":"\u0062","role":"\u0075ser"}`, { id: "b", role: "user" }],
    ['{"id":5,"role":"user"}', { role: "user" }],
    ['{"id":"","role":"user"}', { role: "user" }],
    ['{"id":"b","id":"c","role":"user"}', { id: "c", role: "user" }],
    [`{"id":"${"x".repeat(257)}","role":"tool"}`, { role: "tool" }],
    ['{"nested":{"id":"n","role":"user"},"id":"b","role":"system"}', { id: "b", role: "system" }],
  ])("%s", async (before, head) => {
    const { messages } = parseChatRequest(await read(bodyOf([before, user])));
    expect(messages).toHaveLength(2);
    expect(messages.at(-2)).toEqual({ ...head, parts: [] });
  });

  test.each(["null", "[]", "{}", '{"id":"b"}', '{"id":"b","role":"root"}'])("%s is left out", async (before) => {
    expect(parseChatRequest(await read(bodyOf([before, user]))).messages).toHaveLength(1);
  });

  test("keeps its place beside the message that is named", async () => {
    const other = (id: string) => `{"id":"${id}","role":"user"}`;
    const named = assistant(answerTo("apr"));
    const ids = async (...messages: string[]) =>
      parseChatRequest(await read(bodyOf(messages, ',"messageId":"a"'))).messages.map(({ id }) => id);
    expect(await ids(other("x"), other("y"), named)).toEqual(["y", "a"]);
    expect(await ids(other("x"), named, other("z"))).toEqual(["a", "z"]);
    expect(await ids(named, other("x"), other("y"), other("z"))).toEqual(["a", "y", "z"]);
    expect(await ids(named)).toEqual(["a"]);
  });
});

describe("the new message", () => {
  test.each(Object.entries(bad))("is refused with %s, and the sentence names the place", async (name, value) => {
    if (name === "half a character") return;
    const last = `{"id":"u","role":"user","parts":[{"type":"text","text":"hi","x":${value}}]}`;
    const error = await read(bodyOf([user, user, last])).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(BridgeError);
    if (/__proto__|constructor/.test(name))
      expect(error).toMatchObject({ message: /\$\.messages\[2\]\.parts\[0\]\.x\./ });
    if (name.endsWith("levels")) expect(error).toMatchObject({ message: / than 64 levels .* of \$\.messages\[2\]\.$/ });
  });

  test("has all levels that a whole request may have", async () => {
    const at = (depth: number) => `{"id":"u","role":"user","parts":[{"type":"text","text":"hi","x":${nested(depth)}}]}`;
    expect(await meaning(bodyOf([at(59)]))).toEqual(said);
    await expect(read(bodyOf([at(60)]))).rejects.toThrow("deeper than 64 levels");
    expect(() => wholeMeaning(bodyOf([at(60)]))).toThrow("deeper than 64 levels");
  });

  test("counts with everything outside the list, and the history does not", async () => {
    const body = bodyOf([user], ',"padding":"xxx"');
    await read(body, { maxNewBytes: body.length });
    await expect(read(body, { maxNewBytes: body.length - 1 })).rejects.toMatchObject({ code: "too_large" });
    await read(bodyOf([user, user, user], ',"padding":"xxx"'), { maxNewBytes: body.length });
    await expect(read(bodyOf([user], `,"x":"${"y".repeat(1000)}"`), { maxNewBytes: 1000 })).rejects.toMatchObject({
      code: "too_large",
    });
  });

  test("is not UTF-8: refused", async () => {
    const body = bytesOf(bodyOf([user, user.replace("hi", "??")]));
    body[body.lastIndexOf(0x3f)] = 0xff;
    await expect(read(body)).rejects.toMatchObject({ code: "malformed", message: "The text is not UTF-8." });
  });
});

describe("an answered message", () => {
  test("may contain old outputs of any kind and size", async () => {
    for (const value of Object.values(bad)) {
      const old = `{"type":"tool-x","toolCallId":"old","state":"output-available","input":${value},"output":${value}}`;
      const words = `{"type":"text","text":${value},"providerMetadata":${value}}`;
      const data = `{"type":"data-chart","data":${value}}`;
      const submission = interpret(
        parseChatRequest(await read(bodyOf([assistant(words, old, data, answerTo("apr"))]))),
      );
      expect(submission).toMatchObject({
        type: "answers",
        answers: [
          { id: "old", result: { unread: expect.any(UnreadJson) } },
          { id: "apr", approved: true },
        ],
      });
    }
  });

  test("has its outputs unread; reading one that breaks a limit says where it is", async () => {
    const output = (value: string) =>
      answerTo("apr", `,"output":${value}`).replace("approval-responded", "output-available");
    const unreadIn = async (value: string) => {
      const submission = interpret(parseChatRequest(await read(bodyOf([user, assistant(output(value))]))));
      const result = submission.type === "answers" ? submission.answers[0]?.result : undefined;
      return result && "unread" in result ? result.unread : undefined;
    };
    expect((await unreadIn('{"place":"Kyōto"}'))?.read()).toEqual({ place: "Kyōto" });
    const forbidden = await unreadIn('{"x":[{"constructor":1}]}');
    expect(() => forbidden?.read()).toThrow(
      "The value at $.messages[1].parts[0].output.x[0].constructor is under a key",
    );
    const large = await unreadIn(`"${"x".repeat(4 * MiB)}"`);
    expect(() => large?.read()).toThrow("The value has 4194306 bytes");
    const broken = await unreadIn("[1,]");
    expect(() => broken?.read()).toThrow("not valid JSON");
  });

  test("shares the limit of bytes among the outputs that are read", async () => {
    const output = (id: string) =>
      `{"type":"tool-x","toolCallId":"${id}","state":"output-available","output":"${"x".repeat(600)}"}`;
    const body = parseChatRequest(await read(bodyOf([assistant(output("1"), output("2"))]), { maxNewBytes: 1000 }));
    const [first, second] = body.messages.at(-1)?.parts.map((part) => part["output"] as UnreadJson) ?? [];
    first?.read();
    expect(() => second?.read()).toThrow("The value has 602 bytes; 398 are left for it.");
  });

  test("has error texts up to the length that is used, wherever they are cut", async () => {
    const whole = (text: string) =>
      JSON.stringify(text).replaceAll(
        /[^ -~]/g,
        (unit) => String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
      );
    for (const text of ["x", "花", "\n", "😀"])
      for (const shift of [0, 1, 2, 3, 4, 5])
        for (const json of [
          JSON.stringify("y".repeat(shift) + text.repeat(13_000)),
          whole("y".repeat(shift) + text.repeat(13_000)),
        ]) {
          const part = `{"type":"tool-x","toolCallId":"c","state":"output-error","errorText":${json}}`;
          expect(await meaning(bodyOf([assistant(part)]))).toEqual(wholeMeaning(bodyOf([assistant(part)])));
        }
  });

  test("refuses answers with forbidden keys, or more of them than may be new", async () => {
    const part = answerTo("apr").replace('"approved":true', '"approved":true,"__proto__":{}');
    await expect(read(bodyOf([assistant(part)]))).rejects.toThrow("$.messages[0].parts[0].approval.__proto__");
    const many = Array.from({ length: 50 }, () => answerTo("apr"));
    await expect(read(bodyOf([assistant(...many)]), { maxNewBytes: 2000 })).rejects.toMatchObject({
      code: "too_large",
    });
  });

  test("refuses a field that is there twice", async () => {
    for (const twice of [
      assistant(answerTo("apr", ',"approval":{"id":"apr","approved":false}')),
      assistant(answerTo("apr", String.raw`,"\u0061pproval":{"id":"apr","approved":false}`)),
      assistant(answerTo("apr")).replace('"parts"', '"parts":[],"parts"'),
      assistant(answerTo("apr")).replace('"role":', '"id":"b","role":'),
    ])
      await expect(read(bodyOf([twice]))).rejects.toThrow("the same key twice");
  });
});

describe("a body", () => {
  test.each([
    ["", "malformed"],
    ["{", "malformed"],
    [bodyOf([user]).slice(0, -1), "malformed"],
    [`${bodyOf([user])}x`, "malformed"],
    [`${bodyOf([user])}{}`, "malformed"],
    [`\uFEFF${bodyOf([user])}`, "malformed"],
    ['{"id":"c","messages":[1,]}', "malformed"],
    ["[".repeat(1_000_000), "invalid"],
    ['{"id":"c","id":"d","messages":[]}', "invalid"],
    ['{"messages":[],"messages":[]}', "invalid"],
    [String.raw`{"messages":[],"\u006dessages":[]}`, "invalid"],
    [String.raw`{"messages":5,"messages":[]}`, "invalid"],
    ['{"data":{"messages":[],"messages":[]}}', "invalid"],
    ['{"data":{"messages":[]},"data":{"messages":[]}}', "invalid"],
    ['{"__proto__":{},"messages":[]}', "invalid"],
    [`{"messages":[],"x":${nested(70)}}`, "invalid"],
  ])("%.60s is refused", async (body, code) => {
    await expect(read(body)).rejects.toMatchObject({ code });
  });

  test("has the list of messages at its top level, under any spelling, and nowhere else", async () => {
    const escaped = bodyOf([user]).replace('"messages"', String.raw`"\u006dessages"`);
    expect(await meaning(escaped)).toEqual(said);
    const nestedList = `{"id":"c","x":{"messages":[1]},"y":[{"messages":[{}]}],"messages":[${user}],"metadata":{"messages":[]}}`;
    expect(await meaning(nestedList)).toEqual(said);
    expect(await read('{"id":"c","messages":{"messages":[1]}}')).toEqual({ id: "c", messages: { messages: [1] } });
  });

  test("without an id has its earlier messages as far as they fit, because they are new as well", async () => {
    const old = (id: string, text: string) => `{"id":"${id}","role":"user","parts":[{"type":"text","text":${text}}]}`;
    const ids = async (messages: string[], more = "", options = {}) =>
      parseChatRequest({
        id: "c",
        ...((await read(`{"messages":[${messages.join()}]${more}}`, options)) as object),
      }).messages.map(({ id, parts }) => `${id}:${parts.length}`);
    const messages = [old("1", '"one"'), old("2", '{"__proto__":1}'), old("3", '"three"'), user];
    expect(await ids(messages)).toEqual(["1:1", "2:0", "3:1", "u:1"]);
    expect(await ids(messages, "", { maxNewBytes: 150 })).toEqual(["3:1", "u:1"]);
    expect(await ids(messages, ',"chatId":"c"')).toEqual(["3:0", "u:1"]);
    expect(await ids(Array.from({ length: 3000 }, () => user))).toHaveLength(1000);
  });
});

describe("a frame", () => {
  const frameMeaning = async (frame: string) => {
    const parsed = parseFrame(await readFrame(frame));
    return parsed.type === "message" || parsed.type === "send" ? interpret(parsed, newId) : parsed;
  };
  const list = `"messages":[{"__proto__":1},${user}]`;

  test("has its messages outside or inside data, and those outside win", async () => {
    expect(await frameMeaning(`{"type":"message",${list}}`)).toEqual(said);
    expect(await frameMeaning(`{"type":"message","data":{${list}}}`)).toEqual(said);
    expect(await frameMeaning(`{"data":{"type":"message",${list}}}`)).toEqual(said);
    expect(await frameMeaning(`{"type":"message","data":{"messages":[{"__proto__":1}]},${list}}`)).toEqual(said);
    expect(await frameMeaning(`{"type":"send","id":"c","requestId":"r",${list}}`)).toEqual(said);
    await expect(frameMeaning(`{"type":"message","data":{${list}},"messages":5}`)).rejects.toThrow("messages");
    await expect(frameMeaning(`{"type":"send","id":"c","requestId":"r","data":{${list}}}`)).rejects.toThrow("messages");
  });

  test("takes messageId from the place that counts", async () => {
    const messages = `"messages":[${assistant(answerTo("apr"))},${user}]`;
    expect(await frameMeaning(`{"type":"message",${messages},"messageId":"a"}`)).toEqual(answered);
    expect(await frameMeaning(`{"type":"message",${messages},"data":{"messageId":"a"}}`)).toEqual(answered);
    expect(await frameMeaning(`{"type":"message",${messages},"messageId":null,"data":{"messageId":"a"}}`)).toEqual(
      said,
    );
    expect(await frameMeaning(`{"type":"send","id":"c","requestId":"r",${messages},"data":{"messageId":"a"}}`)).toEqual(
      said,
    );
  });

  test("of another kind is read whole", async () => {
    expect(await readFrame('{"type":"ping","timestamp":1}')).toEqual({ type: "ping", timestamp: 1 });
    await expect(readFrame('{"type":"tool_result","toolCallId":"c","result":{"__proto__":1}}')).rejects.toThrow(
      "$.result",
    );
  });

  test("has an outline before it is read, so that a refusal can name its request", async () => {
    const text = new ChatText(
      bytesOf(`{"type":"send","requestId":"r","messages":[{"role":"user","x":{"__proto__":1}}]}`),
      {
        ...limits,
        isFrame: true,
      },
    );
    expect(await text.outline()).toEqual({ type: "send", requestId: "r", messages: [] });
    await expect(text.read()).rejects.toThrow("__proto__");
  });
});

describe("reading only what is new", () => {
  // Texts instead of values, so that keys have any order, any spelling, and sometimes come twice.
  const spelled = (text: string) =>
    fc.constantFrom(
      JSON.stringify(text),
      `"${Array.from(text)
        .map((unit) => String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
        .join("")}"`,
    );
  const textOf = (...texts: string[]) => fc.constantFrom(...texts).chain(spelled);
  const mostlySafe = fc.nat(20).map((index) => ['{"constructor":1}', '{"a":1,"a":2}'][index] ?? '{"a":1}');
  const json = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.stringify(value)),
    fc.constantFrom("null", "true", '""', "[]", "{}"),
    mostlySafe,
  );
  const mostly = <T>(usual: fc.Arbitrary<T>, other: fc.Arbitrary<T>) =>
    fc.oneof({ arbitrary: usual, weight: 25 }, { arbitrary: other, weight: 1 });
  const space = fc.constantFrom("", "", " ", "\n\t");
  const objectOf = (fields: Record<string, fc.Arbitrary<string>>) =>
    mostly(fc.constant(Object.keys(fields)), fc.subarray(Object.keys(fields)))
      .chain((names) => fc.shuffledSubarray(names, { minLength: names.length }))
      .chain((names) => fc.tuple(space, ...names.map((name) => fc.tuple(spelled(name), space, fields[name] ?? json))))
      .map(
        ([gap, ...members]) =>
          `{${members.map(([name, before, value]) => `${gap}${name}${before}:${before}${value}`).join()}${gap}}`,
      );
  const listOf = (item: fc.Arbitrary<string>, max: number) =>
    fc.tuple(space, fc.array(item, { maxLength: max })).map(([gap, items]) => `[${gap}${items.join(`${gap},`)}${gap}]`);

  const boolean = mostly(fc.constantFrom("true", "false"), fc.constantFrom('"yes"', "null"));
  const decision = fc.oneof(
    objectOf({ approved: boolean, id: textOf("apr"), reason: textOf("why") }),
    objectOf({ confirmed: boolean, reason: textOf("why") }),
  );
  const plainPart = objectOf({
    type: textOf("text", "text", "reasoning", "file", "step-start"),
    text: textOf("hi", ""),
    x: json,
  });
  const toolPart = objectOf({
    type: textOf("tool-pay", "tool-pay", "tool-adk_request_confirmation", "dynamic-tool", "tool-result", "tool-"),
    toolName: textOf("pay", "adk_request_confirmation"),
    toolCallId: mostly(textOf("call", "apr"), json),
    state: textOf("approval-responded", "output-available", "output-error", "output-denied", "input-available"),
    approval: mostly(decision, json),
    output: fc.oneof(decision, json),
    result: fc.oneof(decision, json),
    errorText: mostly(textOf("failed", ""), json),
    preliminary: boolean,
    input: json,
  });
  const part = mostly(fc.oneof(plainPart, toolPart), json);
  const roles = mostly(textOf("user", "assistant", "assistant"), textOf("system", "root"));
  const message = mostly(
    fc.oneof(
      objectOf({
        id: mostly(textOf("a", "b", ""), json),
        role: roles,
        parts: mostly(listOf(part, 3), json),
        metadata: json,
      }),
      objectOf({ id: textOf("a", "b"), role: roles, content: mostly(fc.oneof(textOf("hi"), listOf(part, 3)), json) }),
      objectOf({ role: textOf("user"), parts: listOf(plainPart, 3) }),
    ),
    json,
  );
  const request = {
    id: textOf("c"),
    messages: mostly(listOf(message, 4), json),
    trigger: textOf("submit-message", "submit-message", "submit-message", "regenerate-message"),
    messageId: fc.oneof(textOf("a", "b"), textOf("a", "b", "z"), fc.constant("null")),
    extra: json,
  };
  /** Sometimes one character is lost, doubled or replaced. */
  const broken = (text: fc.Arbitrary<string>) =>
    fc
      .tuple(
        text,
        mostly(fc.constant(undefined), fc.tuple(fc.nat(), fc.constantFrom("", '"', "{", "]", ",", "\\", " ", "x"))),
      )
      .map(([whole, change]) => {
        if (!change) return whole;
        const at = change[0] % (whole.length + 1);
        return whole.slice(0, at) + change[1] + whole.slice(at + (change[1] === "" ? 1 : 0));
      });

  /** Old and new way agree, except that the old way checks everything. */
  const expectSame = async (text: string, isFrame: boolean) => {
    const understand = (value: unknown) => {
      if (!isFrame) return withOutputs(interpret(parseChatRequest(value), newId));
      const frame = parseFrame(value);
      const isRequest = frame.type === "message" || frame.type === "send";
      return isRequest ? withOutputs(interpret(frame, newId)) : frame;
    };
    const wholly = outcomeOf(() => understand(parseJson(text, { maxDepth: 64 })));
    const value = await outcomeOfAsync(() => (isFrame ? readFrame(text) : read(text)));
    const partly = value instanceof BridgeError ? value : outcomeOf(() => understand(value));
    if (!(wholly instanceof BridgeError)) expect(partly).toEqual(wholly);
    // If the old way refuses the whole, it understands the short form in the same way.
    else if (!(partly instanceof BridgeError))
      expect(outcomeOf(() => understand(parseJson(JSON.stringify(value, readOutputs), { maxDepth: 64 })))).toEqual(
        partly,
      );
  };

  test("gives any body the meaning that it has as a whole", async () => {
    await fc.assert(
      fc.asyncProperty(broken(objectOf(request)), (text) => expectSame(text, false)),
      { numRuns: 400 },
    );
  });

  test("gives any frame the meaning that it has as a whole", async () => {
    const frame = objectOf({
      type: textOf("message", "send", "message", "ping"),
      requestId: textOf("r"),
      data: fc.oneof(objectOf({ ...request, type: textOf("message") }), json),
      ...request,
    });
    const inside = objectOf({ type: textOf("message"), data: objectOf(request) });
    await fc.assert(
      fc.asyncProperty(broken(fc.oneof(frame, inside)), (text) => expectSame(text, true)),
      { numRuns: 400 },
    );
  });
});

/** The submission with its unread outputs read; one that cannot be read is an error. */
function withOutputs<T extends ReturnType<typeof interpret>>(submission: T): T {
  if (submission.type !== "answers") return submission;
  const answers = submission.answers.map((answer) => {
    if (!answer.result || !("unread" in answer.result)) return answer;
    return { ...answer, result: { output: answer.result.unread.read() } };
  });
  return { ...submission, answers };
}

/** For `JSON.stringify`. An output that cannot be read is not part of an answer here. */
function readOutputs(_key: string, value: unknown): unknown {
  if (!(value instanceof UnreadJson)) return value;
  const output = outcomeOf(() => value.read());
  return output instanceof BridgeError ? null : output;
}

function outcomeOf<T>(run: () => T): T | BridgeError {
  try {
    return run();
  } catch (error) {
    if (error instanceof BridgeError) return error;
    throw error;
  }
}

async function outcomeOfAsync<T>(run: () => Promise<T>): Promise<T | BridgeError> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof BridgeError) return error;
    throw error;
  }
}
