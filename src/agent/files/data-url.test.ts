import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readBase64, readDataUrl, toMediaType } from "./data-url.ts";

describe("base64", () => {
  it("is read if it comes back as it was, and refused otherwise", () => {
    const anything = fc.oneof(
      fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes).toString("base64")),
      fc.string({
        unit: fc.constantFrom("A", "Z", "a", "9", "+", "/", "=", "-", "_", " ", "\n", "*", "é"),
        maxLength: 12,
      }),
    );
    fc.assert(
      fc.property(anything, (text) => {
        const isValid = Buffer.from(text, "base64").toString("base64") === text;
        expect(readBase64(text)?.toString("base64")).toBe(isValid ? text : undefined);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("a data URL", () => {
  it("has a type, a beginning and content", () => {
    expect(readDataUrl("DATA:Image/PNG;x=1;BASE64,AAAA")).toEqual({
      mediaType: "image/png",
      header: "DATA:Image/PNG;x=1;BASE64,",
      data: Buffer.from([0, 0, 0]),
    });
    expect(readDataUrl("data:,h%C3%A9")).toEqual({ mediaType: undefined, header: undefined, data: Buffer.from("hé") });
    expect(readDataUrl("https://a.example/,a")).toBeUndefined();
  });

  it("has a media type that is one", () => {
    expect(["image/png; a=b", "text/plain\r\nx: y", "", "png", "a/b/c"].map(toMediaType)).toEqual([
      "image/png",
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });
});
