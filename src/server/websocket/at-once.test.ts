import { expect, test } from "vitest";
import { AtOnce } from "./at-once.ts";

test("runs at most so many at once, the others in order, also after failures", async () => {
  const turns = new AtOnce(2);
  const log: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  const begin = (name: string) =>
    turns
      .run(() => {
        log.push(name);
        return new Promise<void>((resolve, reject) => ends.set(name, (error) => (error ? reject(error) : resolve())));
      })
      .catch(() => void log.push(`${name} failed`));
  const all = ["a", "b", "c", "d"].map(begin);
  expect(log).toEqual(["a", "b"]);
  ends.get("b")?.(new Error("no"));
  await all[1];
  expect(log).toEqual(["a", "b", "c", "b failed"]);
  ends.get("a")?.();
  await all[0];
  expect(log.at(-1)).toBe("d");
  ends.get("c")?.();
  ends.get("d")?.();
  await Promise.all(all);
  await turns.run(async () => void log.push("e"));
  expect(log.at(-1)).toBe("e");
});
