import { describe, expect, test } from "vitest";
import { checkBasePath, isSocketPath, routePaths, setMountPath } from "./mount-path.ts";

const pathsOf = (path: string, basePath?: string) => routePaths(new Request(`http://localhost${path}`), basePath);

describe("the paths that may be a route", () => {
  test.each([
    ["/stream", ["/stream"]],
    ["/stream/a/stop", ["/stream/a/stop", "/a/stop", "/stop"]],
    ["/agent/stream", ["/agent/stream", "/stream"]],
    ["/api/v1/agent/chats/x/export", ["/chats/x/export", "/x/export", "/export"]],
    ["/", ["/"]],
    [`${"/a".repeat(5000)}/live`, ["/a/a/live", "/a/live", "/live"]],
  ])("of %.30s are its last segments, the longest first", (path, expected) => {
    expect(pathsOf(path)).toEqual(expected);
  });

  test.each([
    ["/agent/stream", "/agent", ["/stream"]],
    ["/agent/stream", "/agent/", ["/stream"]],
    ["/stream", "/", ["/stream"]],
    ["/x/stream", "/", ["/x/stream"]],
    ["/agent", "/agent", []],
    ["/agents/stream", "/agent", []],
    ["/x/agent/stream", "/agent", []],
  ])("of %s below the base path %s are %j", (path, basePath, expected) => {
    expect(pathsOf(path, basePath)).toEqual(expected);
  });

  test("are below the path that a framework has removed, whatever the base path", () => {
    const request = new Request("http://localhost/files/chats");
    setMountPath(request, "/files");
    expect(routePaths(request, "/agent")).toEqual(["/chats"]);
  });
});

test.each([
  ["/live", undefined, true],
  ["/agent/live", undefined, true],
  ["/agent/live/x", undefined, false],
  ["/alive", undefined, false],
  ["/agent/live", "/agent", true],
  ["/live", "/agent", false],
  ["/x/agent/live", "/agent", false],
  ["/live", "/", true],
])("a WebSocket is at %s if the base path is %s: %s", (path, basePath, expected) => {
  expect(isSocketPath(path, basePath)).toBe(expected);
});

test("a base path is a path", () => {
  for (const basePath of [undefined, "/", "/agent", "/api/agent/"]) expect(() => checkBasePath(basePath)).not.toThrow();
  for (const basePath of ["agent", "", "/agent?x", 7, null])
    expect(() => checkBasePath(basePath)).toThrow('The option basePath must be a path such as "/agent"');
});
