import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { argumentsOf } from "../../react/arguments-of.ts";
import { cardLimits } from "./card-limits.ts";
import { withDeclaredOrder } from "./declared-order.ts";

/** The names that get a field. `shown` is the order of the chat, by default that of the row. */
function order(declared: string[], call: string[], { shown, fields = {} }: { shown?: string[]; fields?: object } = {}) {
  const stored = call.toSorted();
  return Object.keys(withDeclaredOrder({ ...fields }, { declared, stored, shown: shown ?? stored }));
}

describe("the order of a tool's declaration", () => {
  it("is said if a page would show another one", () => {
    expect(order(["to", "subject", "body"], ["to", "subject", "body"])).toEqual(["to", "subject", "body"]);
    expect(order(["amount", "recipient"], ["recipient", "amount"])).toEqual([]);
    expect(order(["a", "b"], ["a", "b"], { shown: ["b", "a"] })).toEqual(["a", "b"]);
    expect(order([], ["b", "a"], { shown: ["b", "a"] })).toEqual([]);
    expect(order(["request"], ["request"])).toEqual([]);
  });

  it("is said only for arguments that the call has and the tool declares; the others come after them", () => {
    expect(order(["to", "cc", "body"], ["body", "more", "to"])).toEqual(["to", "body"]);
    expect(order(["z"], ["a", "z"])).toEqual(["z"]);
  });

  it("comes after what the policy describes", () => {
    const fields = { body: { format: "multiline" } };
    expect(order(["to", "subject", "body"], ["to", "subject", "body"], { fields })).toEqual(["body", "to", "subject"]);
    expect(order(["body", "subject", "to"], ["to", "subject", "body"], { fields })).toEqual(["body"]);
  });

  it("is left out for names that have no place in an object, or that clients refuse", () => {
    for (const name of ["0", "12", "007", "__proto__", "constructor", "prototype"])
      expect(order(["z", name, "a"], ["a", name, "z"])).toEqual([]);
    expect(order(["z", "__proto__", "a"], ["a", "z"])).toEqual(["z", "a"]);
  });

  it("is left out if the card would be too large", () => {
    const many = (count: number) => Array.from({ length: count }, (_, at) => `n${String(count - at).padStart(3, "0")}`);
    expect(order(many(cardLimits.fields), many(cardLimits.fields))).toHaveLength(cardLimits.fields);
    expect(order(many(cardLimits.fields + 1), many(cardLimits.fields + 1))).toEqual([]);
    const fields = { x: {} };
    expect(order(many(cardLimits.fields), [...many(cardLimits.fields), "x"], { fields })).toEqual(["x"]);
    const long = ["z".repeat(cardLimits.names - 1), "a"];
    expect(order(long, long)).toEqual(long);
    expect(order([...long, "b"], [...long, "b"])).toEqual([]);
  });

  it("is what a page shows, whatever the names are, unless it is left out", () => {
    const letters: string[] = ["a", "b", "c", "d", "to", "toString", "x y", "é"];
    const names = fc.uniqueArray(fc.constantFrom(...letters), { maxLength: 8 });
    fc.assert(
      fc.property(names, names, names, names, (declared, call, described, last) => {
        const shown = [...new Set([...last, ...call])].filter((name) => call.includes(name));
        const stored = call.toSorted();
        const policy = described.filter((name) => call.includes(name)).map((name) => [name, { label: name }]);
        const fields = withDeclaredOrder(Object.fromEntries(policy), { declared, shown, stored });
        const wanted = [...new Set([...described, ...declared, ...stored])].filter((name) => call.includes(name));
        const inOrder = (given: string[]) =>
          argumentsOf(Object.fromEntries(given.map((name) => [name, 1])), fields).map(({ name }) => name);
        expect(inOrder(stored)).toEqual(wanted);
        const isKnown = (name: string) => [...described, ...declared].includes(name);
        expect(inOrder(shown).filter(isKnown)).toEqual(wanted.filter(isKnown));
      }),
    );
  });
});
