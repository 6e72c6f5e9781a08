import { describe, expect, it } from "vitest";
import { contradictsType } from "./contradicts-type.ts";

const bytes = (text: string) => Buffer.from(text, "latin1");
const png = bytes("\x89PNG\r\n\x1a\n....");

describe("the content of a file", () => {
  it.each([
    ["image/png", png],
    ["image/jpeg", bytes("\xff\xd8\xff\xe0....")],
    ["image/webp", bytes("RIFF....WEBPVP8 ")],
    ["audio/wav", bytes("RIFF....WAVEfmt ")],
    ["application/pdf", bytes("%PDF-1.7\n")],
    ["text/plain", bytes("MZ is how this text begins.")],
    ["text/markdown", bytes("<script>is text here</script>")],
    ["image/png", bytes("")],
    ["image/png", bytes("unknown")],
    ["audio/mpeg", bytes("\xff\xfb\x90\x00")],
  ])("may be %s", (type, data) => expect(contradictsType(type, data)).toBe(false));

  it.each([
    ["image/png", bytes("%PDF-1.7\n")],
    ["image/jpeg", png],
    ["application/pdf", png],
    ["image/png", bytes("  <!DOCTYPE html><script>")],
    ["image/gif", bytes("<svg onload=alert(1)>")],
    ["application/pdf", bytes("<html>")],
    ["audio/wav", bytes("RIFF....WEBP")],
    ["image/png", bytes("MZ\x90\x00")],
    ["image/png", bytes("PK\x03\x04")],
    ["text/plain", bytes("a\0b")],
  ])("is certainly not %s", (type, data) => expect(contradictsType(type, data)).toBe(true));
});
