import { LlmAgent } from "@google/adk";
import { describe, expect, it } from "vitest";
import { createSamplePolicies } from "../server/sample-policies.ts";
import { createSampleTools } from "../server/sample-tools.ts";
import { describeOutcome } from "./describe-outcome.ts";
import { errandWords } from "./errand-words.ts";
import { readErrand } from "./read-errand.ts";
import { readRequest } from "./read-request.ts";

describe("the demo script understands", () => {
  it.each([
    ["Email Hanako about the budget", "send_email", { to: ["hanako@example.com"], subject: "About the budget" }],
    ["Please write an email to Bob", "send_email", { to: ["bob@example.com"] }],
    ["花子さんに予算の件でメールして", "send_email", { to: ["hanako@example.com"], subject: "予算について" }],
    ["花子さんに予算についてのメールを送ってください", "send_email", { subject: "予算について" }],
    ["Run `git push --force`", "run_command", { command: "git push --force" }],
    ["「rm -rf build」を実行して", "run_command", { command: "rm -rf build" }],
    ["Scale the shop to 5 replicas", "update_settings", { service: "shop", settings: { replicas: 5 } }],
    ["ショップを5台に増やして", "update_settings", { service: "ショップ", settings: { replicas: 5 } }],
    ["Export the customer report for May", "export_report", { report: "customer", month: "May" }],
    ["5月の顧客レポートを書き出して", "export_report", { report: "顧客", month: "5月" }],
    ["Charge the company card 20 dollars", "charge_card", { amount: 20 }],
    ["会社のカードに20ドル請求して", "charge_card", { amount: 20 }],
    ["Book seat 12a", "book_seat", { seat: "12A" }],
    ["座席12Aを予約して", "book_seat", { seat: "12A" }],
  ])("%s", (said, tool, args) => {
    expect(readRequest(said)).toMatchObject({ errand: { tool, args }, payments: [], unclear: undefined });
  });

  it.each(["Don't email Hanako", "Did you email Hanako?", "メールしないで", "Run!", "Send 50 dollars to Hanako"])(
    "no errand in: %s",
    (said) => {
      expect(readErrand(said)).toBeUndefined();
    },
  );

  it("any text in a moment", () => {
    const start = performance.now();
    for (const piece of ["email ", "「", "`run `", "カードに", "export a ", "を5台に", "scale ", "1"])
      readRequest(piece.repeat(100_000));
    expect(performance.now() - start).toBeLessThan(2000);
  });
});

describe("each sample tool", () => {
  const tools = createSampleTools({ slowMs: 0 });
  const sentences = [
    "Email Hanako",
    "Run `ls`",
    "Scale the shop to 5",
    "Export the customer report",
    "Charge the card 20 dollars",
    "Book seat 12A",
  ];
  const errands = sentences.map((said) => readErrand(said));

  it("asks before it runs, has a card, a sentence that calls it and words in both languages", () => {
    const names = tools.map(({ name }) => name);
    expect(Object.keys(createSamplePolicies({ seatMs: 1 }))).toEqual(names);
    expect(errands.map((errand) => errand?.tool)).toEqual(names);
    for (const name of names)
      for (const language of ["en", "ja"] as const) expect(errandWords(name, language)?.announce).toBeTruthy();
    // ADK refuses a tool whose schema it cannot declare.
    const agent = new LlmAgent({ name: "office", model: "gemini-2.5-flash", tools });
    expect(agent.tools).toHaveLength(names.length);
  });

  it.each(errands.map((errand) => [errand?.tool, errand] as const))(
    "%s is described when it is denied",
    (_, errand) => {
      if (!errand) throw new Error("There is no such errand.");
      const called = { id: "1", name: errand.tool, args: errand.args, response: { error: "No.", status: "denied" } };
      expect(describeOutcome(called, "en")).toMatch(/^You did not approve the .*, so nothing was done\.$/);
      expect(describeOutcome(called, "ja")).toMatch(/承認されなかったため、何も行っていません。$/);
    },
  );

  it("reports a result as Markdown that stays a table whatever the values are", () => {
    const response = { applied: { replicas: 5, "a|b": { name: "x|y`z" } } };
    const said = describeOutcome({ id: "1", name: "update_settings", args: { service: "shop" }, response }, "en");
    expect(said).toBe(
      [
        "The settings of shop are changed:",
        "",
        "| Setting | Value |",
        "|---|---|",
        "| replicas | `5` |",
        String.raw`| a\|b | ` + "`" + String.raw`{"name":"x\|y'z"}` + "` |",
      ].join("\n"),
    );
  });
});
