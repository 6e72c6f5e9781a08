import { describe, expect, it } from "vitest";
import { preflight, withCors } from "./cors.ts";

const app = "https://app.example";
const ask = (headers: Record<string, string>, method = "OPTIONS") =>
  new Request("http://127.0.0.1/stream", { method, headers });

describe("requests from other origins", () => {
  it("lets an allowed page read the response, and says that it depends on the origin", () => {
    const { headers } = withCors(ask({ origin: app }, "POST"), new Response("ok"), [app]);
    expect(headers.get("access-control-allow-origin")).toBe(app);
    expect(headers.get("access-control-expose-headers")).toBe("x-chat-id, retry-after, date");
    expect(headers.get("vary")).toBe("origin");
  });

  it("leaves the rest of a response as it is, also of one whose headers cannot be changed", async () => {
    const made = new Headers([
      ["set-cookie", "a=1"],
      ["set-cookie", "b=2"],
    ]);
    const own = withCors(ask({ origin: app }, "POST"), new Response("no", { status: 418, headers: made }), [app]);
    expect([own.status, own.headers.getSetCookie(), await own.text()]).toEqual([418, ["a=1", "b=2"], "no"]);
    const redirect = withCors(ask({ origin: app }, "POST"), Response.redirect("https://app.example/"), [app]);
    expect([redirect.status, redirect.headers.get("location")]).toEqual([302, "https://app.example/"]);
    expect(redirect.headers.get("access-control-allow-origin")).toBe(app);
    const none = withCors(ask({ origin: app }, "POST"), new Response(null, { status: 204 }), [app]);
    expect([none.status, none.body]).toEqual([204, null]);
  });

  it("returns the response of an application itself, and leaves it as it was made apart from these headers", () => {
    const made = Object.assign(new Response(null, { headers: { vary: "Accept, Origin" } }), { webSocket: {} });
    for (const time of ["first", "second"]) {
      const own = withCors(ask({ origin: app }, "POST"), made, [app]);
      expect(own, time).toBe(made);
      expect(own.headers.get("vary"), time).toBe("Accept, Origin");
      expect(own.headers.get("access-control-expose-headers"), time).toBe("x-chat-id, retry-after, date");
    }
  });

  it("adds nothing for other origins", () => {
    for (const headers of [{ origin: "https://app.example.evil" }, { origin: "null" }, {}] as Record<string, string>[])
      expect(withCors(ask(headers, "POST"), new Response("ok"), [app]).headers.has("access-control-allow-origin")).toBe(
        false,
      );
  });

  it("replies to the preflight request before JSON is sent", () => {
    const asked = {
      origin: app,
      "access-control-request-method": "POST",
      "access-control-request-headers": "content-type",
    };
    const response = preflight(ask(asked), [app]);
    expect(response?.status).toBe(204);
    expect(response?.headers.get("access-control-allow-headers")).toBe("content-type");
    expect(preflight(ask({ ...asked, origin: "https://evil.example" }), [app])).toBeUndefined();
    expect(preflight(ask({ origin: app }), [app])).toBeUndefined();
  });
});
