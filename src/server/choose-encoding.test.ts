import { expect, test } from "vitest";
import { chooseEncoding } from "./choose-encoding.ts";

const both = { br: true, gzip: true };

test.each([
  ["gzip, deflate, br, zstd", both, "br"],
  ["gzip", both, "gzip"],
  ["br;q=0, gzip;q=0.5", both, "gzip"],
  ["br;q=0.000", both, undefined],
  ["BR", both, "br"],
  ["gzip, br", { gzip: true }, "gzip"],
  ["deflate", both, undefined],
  ["bra", both, undefined],
  ["", both, undefined],
  [null, both, undefined],
  ["br", {}, undefined],
  [",".repeat(100_000), both, undefined],
])("of %j", (header, available, encoding) => {
  expect(chooseEncoding(header, available)).toBe(encoding);
});
