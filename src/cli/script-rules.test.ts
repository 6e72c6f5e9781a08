import { describe, expect, test } from "vitest";
import type { GeminiRequest, Piece } from "../testing/index.ts";
import { scriptRules } from "./script-rules.ts";

const schema = { type: "OBJECT", required: ["amount"], properties: { amount: { type: "NUMBER" } } };
const outline = {
  ...{ name: "root", model: "m", tools: ["pay", "pay_later"] },
  agents: [
    { name: "billing", model: undefined, tools: ["refund"], agents: [] },
    { name: "extractor", model: undefined, tools: [], agents: [], outputSchema: schema },
  ],
};
const offer = 'Your internal name is "root".\nAgent name: billing\nAgent description: Money.';

function ask(said: string, more: Partial<GeminiRequest> & { declared?: string[] } = {}): Piece[] {
  const { declared = ["pay", "pay_later"], ...rest } = more;
  const [rule] = scriptRules(() => outline);
  const request = {
    ...{ text: said, fresh: true, responses: [], toolNames: declared, model: "m", request: 1 },
    system: 'Your internal name is "root".',
    contents: [{ role: "user", parts: [{ text: said }] }],
    body: { tools: [{ functionDeclarations: declared.map((name) => ({ name, parameters: schema })) }] },
    ...rest,
  } as unknown as GeminiRequest;
  const say = rule?.say;
  return typeof say === "function" ? (say(request) as Piece[]) : [];
}
const callsOf = (pieces: Piece[]) =>
  pieces.flatMap((piece) =>
    piece.kind === "part" && "functionCall" in piece.part ? [piece.part["functionCall"]] : [],
  );
const textOf = (pieces: Piece[]) => pieces.flatMap((piece) => (piece.kind === "text" ? [piece.text] : [])).join("");

test.each(["call pay", "pay", "Please CALL Pay now!", "payを呼んでください", "bitte ruf »pay« auf"])(
  "%s calls the tool with arguments from its schema",
  (said) => {
    expect(callsOf(ask(said))).toEqual([{ name: "pay", args: { amount: 1 } }]);
  },
);

test.each(["call pay_later", "call pay later", "pay-later"])("%s calls the tool with the longer name only", (said) => {
  expect(callsOf(ask(said))).toMatchObject([{ name: "pay_later" }]);
});

test("arguments that the user writes come first", () => {
  expect(callsOf(ask('call pay {"amount": 7, "to": "Hanako"}'))).toEqual([
    { name: "pay", args: { amount: 7, to: "Hanako" } },
  ]);
});

test("several tools are called at once", () => {
  expect(callsOf(ask("call refund and then pay", { declared: ["pay", "refund"] }))).toMatchObject([
    { name: "refund" },
    { name: "pay" },
  ]);
});

test.each(["repay", "payment", "Hello"])("%s calls nothing and says that it is a script", (said) => {
  expect(callsOf(ask(said))).toEqual([]);
  expect(textOf(ask(said))).toMatch(/scripted Gemini.*“call pay”.*pay, pay_later/);
});

test("it speaks Japanese to those who do", () => {
  expect(textOf(ask("こんにちは"))).toMatch(/台本.*pay, pay_later/);
});

test("says what came, and does not call the tool again", () => {
  const contents = [
    { role: "user", parts: [{ text: "call pay" }] },
    { role: "model", parts: [{ functionCall: { name: "pay", args: {} } }] },
    { role: "user", parts: [{ functionResponse: { name: "pay", response: { paid: 1 } } }] },
  ];
  const responses = [{ id: undefined, name: "pay", args: {}, response: { paid: 1 } }];
  const pieces = ask("call pay", { fresh: false, contents, responses });
  expect(callsOf(pieces)).toEqual([]);
  expect(textOf(pieces)).toContain('pay returned {"paid":1}.');
});

test("does not call a tool again that it called on an earlier live connection", () => {
  const note = '[context, not from the user] The earlier call pay({"amount":1}) ended as succeeded: {"paid":1}';
  const contents = [
    { role: "user", parts: [{ text: "call pay" }] },
    { role: "model", parts: [{ text: '[called pay({"amount":1})]' }] },
    { role: "user", parts: [{ text: note }] },
  ];
  const pieces = ask("call pay", { fresh: false, contents });
  expect(callsOf(pieces)).toEqual([]);
  expect(textOf(pieces)).toContain("ended as succeeded");
});

describe("hands over", () => {
  const declared = ["pay", "transfer_to_agent"];
  const body = {
    tools: [
      {
        functionDeclarations: [
          { name: "pay", parameters: schema },
          {
            name: "transfer_to_agent",
            parameters: { type: "OBJECT", required: ["agentName"], properties: { agentName: { type: "STRING" } } },
          },
        ],
      },
    ],
  };

  test.each(["transfer to billing", "call refund", "refund を呼んで"])("for %s", (said) => {
    expect(callsOf(ask(said, { declared, body, system: offer }))).toEqual([
      { name: "transfer_to_agent", args: { agentName: "billing" } },
    ]);
  });

  test("but not for its own tool, and not to itself", () => {
    expect(callsOf(ask("call pay", { declared, body, system: offer }))).toMatchObject([{ name: "pay" }]);
    const system = 'Your internal name is "billing".\nAgent name: root\nAgent description: All.';
    expect(callsOf(ask("transfer to billing", { declared, body, system }))).toEqual([]);
  });

  test("not for ever", () => {
    const told = { role: "user", parts: [{ text: "[root] called tool `transfer_to_agent` with parameters: {}" }] };
    const contents = [{ role: "user", parts: [{ text: "call refund" }] }, ...Array.from({ length: 5 }, () => told)];
    expect(callsOf(ask("call refund", { declared, body, system: offer, contents }))).toEqual([]);
  });
});

test("gives JSON to an agent with structured output", () => {
  const body = { generationConfig: { responseSchema: schema } };
  expect(textOf(ask("hello", { body }))).toBe('{"amount":1}');
});

test("gives JSON to it also on a live connection, which does not have the schema", () => {
  for (const system of ['You are an agent. Your internal name is "extractor".', "Extract the invoice."])
    expect(textOf(ask("hello", { system, body: {} }))).toBe('{"amount":1}');
});

test("submits its response to an agent with structured output and tools", () => {
  const declared = ["pay", "set_model_response"];
  const final = [{ name: "set_model_response", args: { amount: 1 } }];
  const system = 'Your internal name is "extractor".';
  expect(callsOf(ask("hello", { declared, system }))).toEqual(final);
  expect(callsOf(ask("call pay", { declared, system }))).toMatchObject([{ name: "pay" }]);
  const contents = [
    { role: "user", parts: [{ text: "call pay" }] },
    { role: "model", parts: [{ functionCall: { name: "pay", args: {} } }] },
    { role: "user", parts: [{ functionResponse: { name: "pay", response: { paid: 1 } } }] },
  ];
  const responses = [{ id: undefined, name: "pay", args: {}, response: { paid: 1 } }];
  expect(callsOf(ask("call pay", { declared, system, fresh: false, contents, responses }))).toEqual(final);
});

test("runs code if the agent has code execution", () => {
  const pieces = ask("run some code", { body: { tools: [{ codeExecution: {} }] } });
  expect(pieces.some((piece) => piece.kind === "part" && "executableCode" in piece.part)).toBe(true);
});

test("an agent of a sequence says in live mode that it is done, after its results", () => {
  const declared = ["pay", "task_completed"];
  expect(callsOf(ask("call pay", { declared }))).toMatchObject([{ name: "pay" }]);
  const response = { name: "pay", response: { paid: 1 }, args: {} };
  const contents = [
    { role: "user", parts: [{ text: "call pay" }] },
    { role: "model", parts: [{ functionCall: { name: "pay", args: {} } }] },
    { role: "user", parts: [{ functionResponse: response }] },
  ];
  const after = ask("call pay", { declared, fresh: false, responses: [response], contents } as never);
  expect(textOf(after)).toContain('{"paid":1}');
  expect(callsOf(after)).toEqual([{ name: "task_completed", args: {} }]);
  expect(textOf(ask("Hello", { declared }))).not.toContain("task_completed");
});
