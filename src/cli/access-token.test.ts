import { expect, test } from "vitest";
import { createAccessToken } from "./access-token.ts";

const token = createAccessToken("secret-token");
const request = (path: string, headers: Record<string, string> = {}) =>
  new Request(`http://192.0.2.1:3000${path}`, { headers });

test("the address with the token lets in, sets a cookie and is left", () => {
  const opened = new URL(token.addTo("http://192.0.2.1:3000"));
  expect(token.authenticate(request(opened.pathname + opened.search))).toBe("local");
  const reply = token.respond(request(`/?chat=1&token=secret-token`));
  expect(reply?.status).toBe(303);
  expect(reply?.headers.get("location")).toBe("/?chat=1");
  expect(reply?.headers.get("set-cookie")).toMatch(/=secret-token; Path=\/; HttpOnly; SameSite=Strict$/);
});

test("the address with the token does not lead to another host", () => {
  expect(token.respond(request("//evil.example/?token=secret-token"))?.headers.get("location")).toBe("/evil.example/");
});

test("the cookie lets in", () => {
  expect(token.authenticate(request("/", { cookie: "a=b; adk-stream-protocol=secret-token" }))).toBe("local");
});

test.each(["/", "/?token=", "/?token=secret-tokeN", "/?token=secret-toké", "/?token=secret-token-and-more"])(
  "%s does not let in",
  (path) => {
    expect(token.authenticate(request(path))).toBeUndefined();
    expect(token.respond(request(path))).toBeUndefined();
  },
);
