import { describe, expect, it } from "vitest";
import { createRequestRecord, type RequestRecord } from "./request-record.ts";

const details = { wire: "http", stream: true, pairingErrors: [] } as const;
const add = (record: RequestRecord, said: string) =>
  record.add({ contents: [{ role: "user", parts: [{ text: said }] }] }, "gemini-2.5-flash", details);

describe("the record of requests", () => {
  it("numbers requests from one and keeps them in order", async () => {
    const record = createRequestRecord(10);
    add(record, "one");
    add(record, "two");
    expect(record.requests.map(({ request, text }) => [request, text])).toEqual([
      [1, "one"],
      [2, "two"],
    ]);
    expect((await record.waitForRequest(2)).text).toBe("two");
  });

  it("keeps the last ones, and numbers on", async () => {
    const record = createRequestRecord(3);
    for (let number = 1; number <= 50; number += 1) add(record, `message ${number}`).ended("sent");
    expect(record.requests.map(({ request }) => request)).toEqual([48, 49, 50]);
    expect((await record.waitForRequest(48)).text).toBe("message 48");
    expect(await record.waitForEnd(48)).toBe("sent");
  });

  it("says that a request is no longer kept", async () => {
    const record = createRequestRecord(3);
    for (let number = 1; number <= 4; number += 1) add(record, "hi").ended("sent");
    const sentence = "Request 1 is no longer kept: a scripted Gemini keeps the last 3 (maxRequests).";
    await expect(record.waitForRequest(1)).rejects.toThrow(sentence);
    await expect(record.waitForEnd(1)).rejects.toThrow(sentence);
  });

  it("lets a test wait for a request beyond the bound, and for the end of one that is forgotten meanwhile", async () => {
    const record = createRequestRecord(1);
    const fifth = record.waitForRequest(5);
    const end = record.waitForEnd(1);
    const first = add(record, "first");
    for (let number = 2; number <= 5; number += 1) add(record, `message ${number}`);
    first.ended("interrupted");
    expect((await fifth).text).toBe("message 5");
    expect(await end).toBe("interrupted");
  });

  it("counts from one again after a reset, which those who wait are told", async () => {
    const record = createRequestRecord(3);
    const { requests } = record;
    const late = add(record, "before");
    const waiting = record.waitForRequest(2);
    record.reset("It was reset.");
    await expect(waiting).rejects.toThrow("It was reset.");
    late.ended("sent");
    expect(requests).toEqual([]);
    add(record, "after").ended("dropped");
    expect(requests[0]).toMatchObject({ request: 1, text: "after" });
    expect(await record.waitForEnd(1)).toBe("dropped");
  });
});
