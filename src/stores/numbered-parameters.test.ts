import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { bindsNumbers, withoutNumbers } from "./numbered-parameters.ts";

test("a value that occurs twice is bound twice", () => {
  expect(withoutNumbers("SELECT ?2, ?1 WHERE a = ?2 LIMIT ?12")).toEqual({
    sql: "SELECT ?, ? WHERE a = ? LIMIT ?",
    order: [1, 0, 1, 11],
  });
});

test("a statement without numbers stays as it is", () => {
  expect(withoutNumbers("SELECT ? WHERE a = :b")).toEqual({ sql: "SELECT ? WHERE a = :b", order: undefined });
});

test("whether Node binds numbers is found out without changing anything", () => {
  const db = new DatabaseSync(":memory:");
  expect(typeof bindsNumbers(db)).toBe("boolean");
  db.close();
});
