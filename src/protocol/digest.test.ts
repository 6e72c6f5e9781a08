import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson } from "./canonical-json.ts";
import { actionDigest, digest, type Action } from "./digest.ts";

describe("digest", () => {
  test("is the SHA-256 of the canonical JSON in lower-case hex", async () => {
    expect(await digest({})).toBe("44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
    const value = { b: [1, "é"], a: null };
    expect(await digest(value)).toBe(createHash("sha256").update('{"a":null,"b":[1,"é"]}').digest("hex"));
  });

  test("is equal if and only if the canonical text is", async () => {
    const value = fc.oneof(fc.constantFrom<unknown>(0, -0, "0", [], {}, [0], { a: 0 }, { a: -0 }), fc.jsonValue());
    await fc.assert(
      fc.asyncProperty(value.filter(accepted), value.filter(accepted), async (left, right) => {
        const equal = canonicalJson(left) === canonicalJson(right);
        expect((await digest(left)) === (await digest(right))).toBe(equal);
      }),
      { numRuns: 2_000 },
    );
  });

  test("is refused for what has no canonical JSON", async () => {
    await expect(digest({ amount: Number.NaN })).rejects.toMatchObject({ code: "invalid" });
  });
});

describe("actionDigest", () => {
  const action: Action = {
    approvalId: "apr_1",
    owner: "hanako",
    chat: "chat-1",
    toolCallId: "call-1",
    toolName: "process_payment",
    input: { amount: 50, to: "Hanako" },
  };

  test("is the digest of the versioned action", async () => {
    expect(await actionDigest(action)).toBe(await digest({ v: 1, ...action }));
  });

  test("does not change when it is computed again from another order", async () => {
    const { input, ...rest } = action;
    const again = await actionDigest({ input: { to: "Hanako", amount: 50 }, ...rest });
    expect(again).toBe(await actionDigest({ ...rest, input }));
  });

  test("changes with every field", async () => {
    const changes: Action[] = [
      action,
      { ...action, approvalId: "apr_2" },
      { ...action, owner: "taro" },
      { ...action, chat: "chat-2" },
      { ...action, toolCallId: "call-2" },
      { ...action, toolName: "process_refund" },
      { ...action, input: { amount: 51, to: "Hanako" } },
      { ...action, input: { amount: "50", to: "Hanako" } },
      { ...action, owner: "chat-1", chat: "hanako" },
    ];
    expect(new Set(await Promise.all(changes.map(actionDigest))).size).toBe(changes.length);
  });

  test("covers these fields only, whatever else the object carries", async () => {
    expect(await actionDigest({ ...action, state: "pending" } as Action)).toBe(await actionDigest(action));
  });

  test("takes every input that is itself within the limits, and none past them", async () => {
    let deep: unknown[] = [];
    for (let level = 1; level < 32; level++) deep = [deep];
    const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 0]));
    for (const input of [deep, keys(1_000), "a".repeat(65_534)]) {
      expect(await actionDigest({ ...action, input })).toMatch(/^[0-9a-f]{64}$/);
    }
    for (const input of [[deep], keys(1_001), "a".repeat(65_535), undefined]) {
      await expect(actionDigest({ ...action, input })).rejects.toMatchObject({ code: "invalid" });
    }
  });
});

function accepted(value: unknown): boolean {
  try {
    canonicalJson(value);
    return true;
  } catch {
    return false;
  }
}
