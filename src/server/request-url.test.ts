import { describe, expect, test } from "vitest";
import { requestUrl } from "./request-url.ts";

/** The address of a message with this request target and these Host headers. */
function urlOf(target: string, ...hosts: string[]): string | undefined {
  const rawHeaders = ["Accept", "host", ...hosts.flatMap((host) => ["Host", host])];
  return requestUrl({ url: target, headers: { host: hosts[0] }, rawHeaders })?.href;
}

describe("the address of a request", () => {
  test.each([
    ["/approvals?state=pending", "app.example", "http://app.example/approvals?state=pending"],
    ["//evil/approvals", "app.example", "http://app.example//evil/approvals"],
    ["///evil", "app.example", "http://app.example///evil"],
    ["/\\evil/approvals", "app.example", "http://app.example//evil/approvals"],
    ["/@evil/", "app.example:3000", "http://app.example:3000/@evil/"],
    ["http://app.example/approvals", "app.example", "http://app.example/approvals"],
    ["HTTP://APP.example:80/approvals", "app.example", "http://app.example/approvals"],
    ["/", "[::1]:3000", "http://[::1]:3000/"],
  ])("of %s to the host %s is %s", (target, host, url) => {
    expect(urlOf(target, host)).toBe(url);
  });

  test.each([
    ["no host", "/", []],
    ["two hosts", "/", ["app.example", "evil"]],
    ["the same host twice", "/", ["app.example", "app.example"]],
    ["a host with a path", "/", ["app.example/approvals?"]],
    ["a host with a user", "/", ["user@app.example"]],
    ["an empty host", "/", [""]],
    ["a target of another host", "http://evil/approvals", ["app.example"]],
    ["a target with a user", "http://app.example@evil/", ["app.example"]],
    ["a target with a user of the same host", "http://user:word@app.example/", ["app.example"]],
    ["a target of another kind", "ftp://app.example/", ["app.example"]],
    ["a target without a path", "app.example:80", ["app.example"]],
    ["a target that is a star", "*", ["app.example"]],
  ])("does not exist for %s", (_name, target, hosts) => {
    expect(urlOf(target, ...hosts)).toBeUndefined();
  });

  test("has the host of HTTP/2, unless a Host header names another", () => {
    const ask = (headers: object) =>
      requestUrl({ url: "/x", headers: { ":authority": "app.example", ...headers }, rawHeaders: [] });
    expect(ask({})?.href).toBe("http://app.example/x");
    expect(ask({ host: "app.example" })?.href).toBe("http://app.example/x");
    expect(ask({ host: "evil.example" })).toBeUndefined();
  });
});
