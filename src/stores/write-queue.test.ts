import { expect, test } from "vitest";
import { type Write, writeQueue } from "./write-queue.ts";

const busy = new Error("busy");

/** A queue on a database that remembers what each transaction wrote. */
function newQueue({ isLocked = () => false }: { isLocked?: () => boolean } = {}) {
  const transactions: unknown[][] = [];
  const transact = (writes: readonly Write[]) => {
    if (isLocked()) throw busy;
    const results = writes.map(({ work }) => work());
    transactions.push(results);
    return results;
  };
  const queue = writeQueue({ busyMs: 1000, isBusy: (error) => error === busy, transact });
  const patient = (work: () => unknown) => queue.write({ sync: "FULL", work, isPatient: true });
  const atOnce = (work: () => unknown) => queue.write({ sync: "FULL", work });
  return { queue, transactions, patient, atOnce };
}

test("patient writes of one turn of the event loop share a transaction, and none is acknowledged before it", async () => {
  const { transactions, patient } = newQueue();
  const writes = Promise.all(["a", "b", "c"].map((name) => patient(() => name)));
  await Promise.resolve();
  expect(transactions).toEqual([]);
  expect(await writes).toEqual(["a", "b", "c"]);
  expect(transactions).toEqual([["a", "b", "c"]]);
});

test("a write is made at once, after the patient ones that wait, in their transaction", async () => {
  const { transactions, patient, atOnce } = newQueue();
  const first = patient(() => "a");
  const second = atOnce(() => "b");
  expect(transactions).toEqual([["a", "b"]]);
  expect(await Promise.all([first, second])).toEqual(["a", "b"]);
  expect(await patient(() => "c")).toBe("c");
});

test("a write that fails takes no other with it, and each of the others happens once", async () => {
  const { transactions, patient } = newQueue();
  const failure = new Error("refused");
  const results = await Promise.allSettled(
    ["a", "fails", "c"].map((name) =>
      patient(() => {
        if (name === "fails") throw failure;
        return name;
      }),
    ),
  );
  expect(results).toEqual([
    { status: "fulfilled", value: "a" },
    { status: "rejected", reason: failure },
    { status: "fulfilled", value: "c" },
  ]);
  expect(transactions).toEqual([["a"], ["c"]]);
});

test("a thousand patient writes come in several transactions, in order", async () => {
  const { queue, transactions, patient } = newQueue();
  const writes = Array.from({ length: 1000 }, (_, index) => patient(() => index));
  await queue.idle();
  expect(await Promise.all(writes)).toEqual(writes.map((_, index) => index));
  expect(transactions.flat()).toEqual(writes.map((_, index) => index));
  expect(Math.max(...transactions.map(({ length }) => length))).toBeLessThan(100);
});

test("writes of every kind wait for a lock in their order", async () => {
  let locked = true;
  const { transactions, patient, atOnce } = newQueue({ isLocked: () => locked });
  const writes = [patient(() => 1), atOnce(() => 2), patient(() => 3), atOnce(() => 4)];
  expect(transactions).toEqual([]);
  locked = false;
  expect(await Promise.all(writes)).toEqual([1, 2, 3, 4]);
  expect(transactions.flat()).toEqual([1, 2, 3, 4]);
});
