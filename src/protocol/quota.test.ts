import { describe, expect, it } from "vitest";
import { Quota } from "./quota.ts";

const newQuota = (retryAfter?: number) =>
  new Quota({ what: "turns at once", perOwner: 2, total: 3, ...(retryAfter !== undefined && { retryAfter }) });

describe("a quota", () => {
  it("refuses an owner who has too much, and no other", () => {
    const quota = newQuota();
    quota.take("alice");
    quota.take("alice");
    expect(() => quota.take("alice")).toThrow(
      "The limit of 2 turns at once per owner is reached. Try again in 1 second.",
    );
    expect(() => quota.take("bob")).not.toThrow();
  });

  it("refuses everyone when all is used, and tells an owner who has too much so", () => {
    const quota = newQuota(5);
    for (const owner of ["alice", "alice", "bob"]) quota.take(owner);
    expect(() => quota.check("bob")).toThrow(
      expect.objectContaining({
        code: "unavailable",
        retryAfter: 5,
        message: "The limit of 3 turns at once of this server is reached. Try again in 5 seconds.",
      }),
    );
    expect(() => quota.check("alice")).toThrow(expect.objectContaining({ code: "too_many", retryAfter: 5 }));
  });

  it("gets each share back once, however often it is released", () => {
    const quota = newQuota();
    const [first, second] = [quota.take("alice"), quota.take("alice")];
    first.release();
    first.release();
    expect([quota.used("alice"), quota.used()]).toEqual([1, 1]);
    second.release();
    expect([quota.used("alice"), quota.used()]).toEqual([0, 0]);
  });

  it("lets a share grow, up to the limit", () => {
    const quota = newQuota();
    const share = quota.take("alice");
    share.add(1);
    expect(() => share.add(1)).toThrow(expect.objectContaining({ code: "too_many" }));
    expect(quota.used("alice")).toBe(2);
    share.release();
    share.add(1);
    expect(quota.used()).toBe(0);
  });

  it("counts a share in all before its owner is known, and then for the owner too", () => {
    const quota = newQuota();
    const shares = [quota.take(undefined), quota.take(undefined), quota.take(undefined)];
    expect(() => quota.take(undefined)).toThrow(expect.objectContaining({ code: "unavailable" }));
    shares[0]?.assign("alice");
    shares[1]?.assign("alice");
    expect(() => shares[2]?.assign("alice")).toThrow(expect.objectContaining({ code: "too_many" }));
    for (const share of shares) share.release();
    expect([quota.used("alice"), quota.used()]).toEqual([0, 0]);
  });

  it("counts what must not be refused", () => {
    const quota = newQuota();
    for (let count = 0; count < 5; count++) quota.count("alice");
    expect(quota.used("alice")).toBe(5);
    expect(() => quota.take("bob")).toThrow(expect.objectContaining({ code: "unavailable" }));
  });
});
